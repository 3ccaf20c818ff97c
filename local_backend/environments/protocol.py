"""What the scheduler's side and the grader's process agree on: limits, and how text is cleaned before it crosses. JSON lines either way.

Requests: `{"version", "op": "load", "environment": {…}, "split", "seed", "skip", "tasks", "gradeSeconds"}`,
`{"version", "op": "describe", "environment": {…}}`, `{"op": "grade", "n", "task", "completion", "simulated"}`. Answers come in the order of
the requests: `{"ok": true, …}` or `{"ok": false, "message", "faults": [[line, message], …]}` to the first two,
`{"n", "verdict", "reward", "message"}` to a grade. What is of another version and not understood is answered with a sentence that says so.
"""

GRADE_SECONDS = 5.0
"""A grader's time for one answer, in seconds."""


def hard_limit(grade_seconds: float) -> float:
    """Seconds after which a grader that could not be interrupted is killed."""
    return 2 * grade_seconds + 1


def clean_text(text: str) -> str:
    """The text with surrogates joined to the letters they spell, and each lone one replaced by U+FFFD: valid in UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
