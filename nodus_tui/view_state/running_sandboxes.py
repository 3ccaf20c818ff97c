"""The sandboxes that run on the backend's machine for runs, graders and jobs: folded from one look after another."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, field

from nodus_tui.contract.sandboxes import SandboxFact
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column
from nodus_tui.view_state.figures import NOTHING, age_text
from nodus_tui.view_state.image_names import short_image
from nodus_tui.view_state.money import usd_cell_forms
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import unread

PURPOSES = {"episode": "run", "grading": "grading", "check": "check", "probe": "probe", "job": "job", "sandbox": "sandbox"}
"""What one is for, in a word."""


def purpose_word(fact: SandboxFact) -> str:
    """What it is for."""
    return PURPOSES.get(fact.purpose, fact.purpose)


def _whose(fact: SandboxFact) -> Span:
    if fact.owner_alive is False:
        return Span("! nobody's", Tone.WARN)
    return muted("this one" if fact.mine else "another one")


def _age(fact: SandboxFact, now: datetime) -> Line:
    return line(muted(age_text(fact.created_at, now))) if fact.created_at is not None else line(NOTHING)


def _costs(fact: SandboxFact) -> tuple[Line, ...]:
    return usd_cell_forms(fact.cost_usd) if fact.cost_usd is not None else (line(NOTHING),)


COLUMNS: tuple[Column[SandboxFact], ...] = (
    Column("for", "FOR", 8, lambda fact, _now: line(purpose_word(fact)), purpose_word),
    Column(
        "run", "RUN, JOB", 14, lambda fact, _now: line(strong(fact.run)), lambda fact: fact.run, prefer=24, grow=30, least=8, middle=True
    ),
    Column("engine", "ENGINE", 10, lambda fact, _now: line(muted(fact.engine)), lambda fact: fact.engine, priority=4),
    Column(
        "network",
        "NETWORK",
        7,
        lambda fact, _now: line(Span("yes") if fact.network else muted("no")),
        lambda fact: str(fact.network),
        priority=4,
    ),
    Column(
        "age",
        "AGE",
        6,
        _age,
        lambda fact: fact.created_at.timestamp() if fact.created_at is not None else None,
        priority=1,
        right=True,
        since=True,
    ),
    Column(
        "cost",
        "COST",
        9,
        lambda fact, _now: _costs(fact)[0],
        lambda fact: fact.cost_usd,
        priority=2,
        right=True,
        shorter=lambda fact, _now: _costs(fact)[1:],
    ),
    Column("whose", "WORKSPACE", 11, lambda fact, _now: line(_whose(fact)), lambda fact: _whose(fact).text, priority=3),
    Column("image", "IMAGE", 10, lambda fact, _now: line(muted(short_image(fact.image))), lambda fact: fact.image, priority=4, grow=80),
)


class RunningSandboxes(Struct):
    """The last look."""

    rows: Rows[SandboxFact] = field(default_factory=lambda: Rows(COLUMNS, sort="age", descending=True))
    looked: bool = False
    problem: str = ""
    """Why the last look gave nothing; empty where it gave something."""

    def take(self, facts: Sequence[SandboxFact]) -> None:
        """A look arrived. This workspace's own of that kind stand in a table of their own."""
        self.looked, self.problem = True, ""
        told = {fact.id: fact for fact in facts if not (fact.mine and fact.purpose == "sandbox")}
        for gone in set(self.rows.keys()) - told.keys():
            self.rows.remove(gone)
        for key, fact in told.items():
            if self.rows.find(key) != fact:
                self.rows.put(key, fact)

    def fail(self, problem: str) -> None:
        """A look gave nothing: what is known stays."""
        self.problem = problem

    def empty_lines(self) -> tuple[Line, ...]:
        """What stands there where there are none."""
        if self.problem:
            return (line(Span(f"! {unread('What runs beside them', self.problem)}", Tone.BAD)),)
        return (line(muted("No sandbox of a run, a grader or a job runs." if self.looked else "Asking the backend…")),)


def fact_lines(fact: SandboxFact, now: datetime) -> tuple[Line, ...]:
    """One in words."""
    whose = "of this workspace" if fact.mine else f"of {fact.workspace}"
    parts = [
        line(f"{purpose_word(fact)} ", strong(fact.run)),
        line(muted(whose)),
        line(muted(f"{fact.engine} {fact.id}")),
        line(muted(f"{age_text(fact.created_at, now)} old")) if fact.created_at is not None else (),
    ]
    dead = line(Span(f"! Its owner (pid {fact.owner_pid}) has ended: `nodus-tui sandboxes reap` removes it.", Tone.WARN))
    return (joined(parts), line(muted(short_image(fact.image))), *((dead,) if fact.owner_alive is False else ()))
