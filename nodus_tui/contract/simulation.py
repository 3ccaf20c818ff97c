"""The marks that stand for answers in the replies of a simulated model.

A simulated model knows no answers, and the answers of a task never leave the grader's process. So a simulated reply holds one of these
marks, and the grader, for runs whose model is simulated and for no others, reads the mark as the answer that it stands for. A reply of a
real model that happens to hold a mark is graded as the plain text that it is.

A simulated agent with tools submits a mark as its answer, where it may submit. One with a script that submits, or speaks, of its own is
graded for what it did, like any other; a script may hold marks, too.
"""

REFERENCE_PLACEHOLDER = "⟨reference answer⟩"
"""Stands for the task's expected answer: graded Correct."""

WRONG_PLACEHOLDER = "⟨wrong answer⟩"
"""Stands for a readable answer that differs from the expected one: graded Incorrect."""

UNREADABLE_REPLY = "…"
"""The whole reply of a simulated model that gave nothing a grader can read: graded InvalidOutput."""
