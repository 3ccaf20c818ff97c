"""Phases, verdicts and reasons as a glyph and a word with a tone: three carriers, so that colour is never the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from nodus_tui.contract.phases import GroupPhase, Reason, RunPhase, Verdict
from nodus_tui.view_state.cells import Line, Span, Tone, hint, line

if TYPE_CHECKING:
    from nodus_tui.contract.resources.job import JobPhase, JobStatus
    from nodus_tui.contract.resources.sandbox import SandboxPhase


class Sign(Struct, frozen=True):
    """How a state is told. The glyph takes one cell in every terminal."""

    glyph: str
    word: str
    tone: Tone

    def spans(self) -> Line:
        """Glyph and word."""
        return line(Span(f"{self.glyph} {self.word}", self.tone))


def phase_words(phase: str, reason: str | None, message: str) -> str:
    """A phase, why it is so and what is to be said of it, as one text; what says the same again is told once."""
    parts = [phase]
    for part in (reason or "", message):
        rest = part[len(parts[-1]) :]
        if part.casefold().startswith(parts[-1].casefold()) and rest[:1] in {"", " "}:
            parts[-1] += rest
        elif part:
            parts.append(part)
    return ": ".join(parts)


GROUP_SIGNS: dict[GroupPhase, Sign] = {
    GroupPhase.PENDING: Sign("○", "Pending", Tone.MUTED),
    GroupPhase.RUNNING: Sign("►", "Running", Tone.INFO),
    GroupPhase.STALLED: Sign("‖", "Stalled", Tone.WARN),
    GroupPhase.COMPLETED: Sign("●", "Completed", Tone.GOOD),
    GroupPhase.CANCELLED: Sign("×", "Cancelled", Tone.MUTED),
    GroupPhase.FAILED: Sign("!", "Failed", Tone.BAD),
    GroupPhase.INTERRUPTED: Sign("¦", "Interrupted", Tone.WARN),
}

RUN_SIGNS: dict[RunPhase, Sign] = {
    RunPhase.PENDING: Sign("○", "Pending", Tone.MUTED),
    RunPhase.RUNNING: Sign("►", "Running", Tone.INFO),
    RunPhase.WAITING: Sign("‖", "Waiting", Tone.WARN),
    RunPhase.GRADING: Sign("◇", "Grading", Tone.INFO),
    RunPhase.SUCCEEDED: Sign("●", "Succeeded", Tone.PLAIN),
    RunPhase.FAILED: Sign("!", "Failed", Tone.BAD),
    RunPhase.CANCELLED: Sign("×", "Cancelled", Tone.MUTED),
    RunPhase.SUPERSEDED: Sign("»", "Superseded", Tone.MUTED),
    RunPhase.INTERRUPTED: Sign("¦", "Interrupted", Tone.WARN),
}

JOB_SIGNS: dict[JobPhase, Sign] = {
    "Running": Sign("►", "Running", Tone.INFO),
    "Serving": Sign("►", "Serving", Tone.INFO),
    "Pending": Sign("○", "Pending", Tone.MUTED),
    "Interrupted": Sign("¦", "Interrupted", Tone.WARN),
    "Failed": Sign("!", "Failed", Tone.BAD),
    "Cancelled": Sign("×", "Cancelled", Tone.MUTED),
    "Succeeded": Sign("●", "Succeeded", Tone.GOOD),
}
"""In the order in which a person may have to act on them."""

BOX_SIGNS: dict[SandboxPhase, Sign] = {
    "Running": Sign("►", "Running", Tone.INFO),
    "Pending": Sign("○", "Pending", Tone.MUTED),
    "Failed": Sign("!", "Failed", Tone.BAD),
    "Stopped": Sign("●", "Stopped", Tone.PLAIN),
}
"""In the order in which a person may have to act on them."""

BUDGET_SIGNS: dict[str, Sign] = {
    "blocking": Sign("‖", "Blocking", Tone.BAD),
    "over": Sign("!", "Over", Tone.WARN),
    "open": Sign("●", "Open", Tone.GOOD),
}
"""In the order in which a person may have to act on them."""

VERDICT_SIGNS: dict[Verdict, Sign] = {
    Verdict.CORRECT: Sign("✓", "Correct", Tone.GOOD),
    Verdict.INCORRECT: Sign("✗", "Incorrect", Tone.BAD),
    Verdict.INVALID_OUTPUT: Sign("?", "Invalid", Tone.WARN),
    Verdict.INFRASTRUCTURE_FAILURE: Sign("!", "Infra fail", Tone.BAD),
}

_PAUSED = {
    Reason.RATE_LIMITED: Sign("~", "Rate-limit", Tone.WARN),
    Reason.RETRYING: Sign("~", "Retrying", Tone.WARN),
    Reason.DISK_ALMOST_FULL: Sign("~", "Disk full", Tone.WARN),
    Reason.WAITING_FOR_SANDBOX: Sign("~", "No sandbox", Tone.WARN),
    Reason.WAITING_FOR_DEVICE: Sign("~", "No device", Tone.WARN),
    Reason.WAITING_FOR_MODEL: Sign("~", "No model", Tone.WARN),
}

REASON_WORDS: dict[Reason, str] = {
    Reason.WAITING_FOR_SLOT: "a slot",
    Reason.MAX_COST_REACHED: "a cap",
    Reason.RATE_LIMITED: "the rate limit",
    Reason.RETRYING: "the next try",
    Reason.DISK_ALMOST_FULL: "disk space",
    Reason.WAITING_FOR_SANDBOX: "a sandbox",
    Reason.WAITING_FOR_DEVICE: "a device",
    Reason.WAITING_FOR_MODEL: "its model",
    Reason.SANDBOX_LIMIT_REACHED: "sandbox limit",
    Reason.ANSWERED: "answered",
    Reason.INFRASTRUCTURE_FAILURE: "infrastructure failure",
    Reason.EVALUATION_TIMEOUT: "evaluation timeout",
    Reason.TURN_LIMIT_REACHED: "turn limit",
    Reason.KILLED: "killed",
    Reason.SUPERSEDED: "superseded",
    Reason.BUDGET_EXCEEDED: "budget exceeded",
    Reason.INTERRUPTED: "interrupted",
    Reason.PREPARATION_FAILED: "preparation failed",
}
"""Reasons in few words, for a narrow column; the backend's message has the whole sentence."""


def run_sign(phase: RunPhase, reason: Reason | None) -> Sign:
    """A run's phase; a running one that sits out a pause says which pause."""
    if phase is RunPhase.RUNNING and reason in _PAUSED:
        return _PAUSED[reason]
    return RUN_SIGNS[phase]


def job_sign(status: JobStatus) -> Sign:
    """A job's phase; a server that is not up yet, or does not answer any more, says so."""
    if status.serving is not None and status.reason == "NotAnswering":
        return Sign("~", "No answer", Tone.WARN)
    if status.serving is not None and status.reason == "Starting":
        return Sign("►", "Starting", Tone.INFO)
    return JOB_SIGNS[status.phase]


def sandboxes_words(running: int, key: str) -> Line:
    """How many sandboxes run, those of runs included, and the key that shows them: each takes memory, and costs money while it is idle.
    Nothing where none does.
    """
    return hint(key, f" {running:,} sandbox{'es' if running != 1 else ''} running", "do('sandboxes')") if running else ()


BY_ITSELF = "It is asked for again by itself."


def unread(what: str, why: str, then: str = BY_ITSELF) -> str:
    """What an error keeps from being shown, why, and what to do or what happens next: `The log cannot be read: … . It is …`."""
    return f"{what} cannot be read: {why.rstrip('.')}. {then}".rstrip()


def as_sentence(message: str) -> str:
    """A message of a backend among sentences: it begins with a capital and ends with a full stop."""
    return f"{message[:1].upper()}{message[1:]}{'' if message[-1:] in '.!?' else '.'}"
