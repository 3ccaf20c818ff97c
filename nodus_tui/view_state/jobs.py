"""The jobs view and the facts of one job: phase, cost so far at its rate, when it will be ended, what was kept of it."""

from datetime import datetime
from decimal import Decimal

from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.contract.money import NANO_PER_USD, display_usd, usd_from_nano
from nodus_tui.contract.resources.job import JobStatus
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.view_state.any_job import (
    KIND_WORDS,
    AnyJob,
    job_status,
    machine_words,
    progress_cell,
    progress_line,
    result_words,
    score_lines,
    waits_for_budget,
    what_line,
    what_words,
)
from nodus_tui.view_state.cells import Line, Span, Tone, hint, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.devices import given_words, waiting_words
from nodus_tui.view_state.figures import (
    NOTHING,
    age_text,
    bar,
    clock_text,
    column_span_text,
    exact_span_text,
    seconds_between,
    share,
    short_usd,
    span_text,
)
from nodus_tui.view_state.files import size_text
from nodus_tui.view_state.filtering import Filter, Searchable
from nodus_tui.view_state.folding import job_after
from nodus_tui.view_state.money import money_beside_cap, money_of
from nodus_tui.view_state.proposals import Question
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.words import JOB_SIGNS, as_sentence, job_sign

_PHASE_ORDER = {phase: place for place, phase in enumerate(JOB_SIGNS)}
_HOUR_SECONDS = 3600


def cap_of(job: AnyJob) -> Decimal:
    """The cap in force."""
    raised = job_status(job).cap_usd
    return job.spec.max_cost_usd if raised is None else raised


def cost_now(job: AnyJob, now: datetime) -> Decimal:
    """What it has cost: booked when it has ended, its time at its rate while it runs."""
    status = job_status(job)
    if status.started_at is None or status.ended_at is not None:
        return status.cost_usd
    nano = Decimal(seconds_between(status.started_at, now)) * status.rate_usd * NANO_PER_USD / _HOUR_SECONDS
    return min(cap_of(job), max(status.cost_usd, status.earlier_usd + usd_from_nano(int(nano))))


def _took(job: AnyJob, now: datetime) -> Line:
    status = job_status(job)
    if status.started_at is None:
        return line(NOTHING)
    if status.ended_at is None:
        return line(column_span_text(seconds_between(status.started_at, now), going=True))
    return line(column_span_text(seconds_between(status.started_at, status.ended_at)))


def _share_cell(job: AnyJob, now: datetime) -> Line:
    used = share(cost_now(job, now), cap_of(job))
    return bar(used, 6, Tone.WARN if used >= 0.9 else Tone.INFO)


def _waiting(status: JobStatus, now: datetime) -> str:
    return waiting_words(status.message, status.until, status.until_kind, now)


def _reason_cell(job: AnyJob, now: datetime) -> Line:
    status = job_status(job)
    scores = result_words(job) if status.phase == "Succeeded" else ""
    return line(muted(_waiting(status, now) or status.reason or scores or what_words(job)))


def _seconds(job: AnyJob) -> float | None:
    status = job_status(job)
    return None if status.started_at is None or status.ended_at is None else seconds_between(status.started_at, status.ended_at)


JOB_COLUMNS: tuple[Column[AnyJob], ...] = (
    Column(
        "name",
        "NAME",
        12,
        lambda job, _now: line(strong(job.name)),
        lambda job: job.name,
        prefer=14,
        grow=31,
        least=6,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column(
        "phase",
        "PHASE",
        13,
        lambda job, _now: job_sign(job_status(job)).spans(),
        lambda job: _PHASE_ORDER[job_status(job).phase],
        least=9,
    ),
    Column("kind", "KIND", 4, lambda job, _now: line(muted(KIND_WORDS[job.kind])), lambda job: job.kind, priority=4, measure=Measure.TEXT),
    Column(
        "done", "DONE", 6, lambda job, _now: progress_cell(job), lambda job: job_status(job).progress, priority=2, measure=Measure.SHARE
    ),
    Column(
        "exit",
        "EXIT",
        4,
        lambda job, _now: line(NOTHING) if job_status(job).exit_code is None else line(str(job_status(job).exit_code)),
        lambda job: job_status(job).exit_code,
        priority=4,
        right=True,
        measure=Measure.COUNT,
    ),
    Column(
        "spent",
        "SPENT/CAP",
        13,
        lambda job, now: money_of(cost_now(job, now), cap_of(job)),
        lambda job: job_status(job).cost_usd,
        grow=9,
        right=True,
        shorter=lambda job, now: money_beside_cap(cost_now(job, now), cap_of(job)),
        least=9,
        measure=Measure.MONEY,
    ),
    Column(
        "share",
        "",
        6,
        _share_cell,
        lambda job: share(job_status(job).cost_usd, cap_of(job)),
        priority=5,
        measure=Measure.SHARE,
        about="share of the cap",
    ),
    Column("took", "TIME", 6, _took, _seconds, priority=2, right=True, measure=Measure.SECONDS),
    Column(
        "age",
        "AGE",
        6,
        lambda job, now: line(muted(age_text(job_status(job).created_at, now))),
        lambda job: job_status(job).created_at.timestamp(),
        priority=4,
        right=True,
        since=True,
    ),
    Column("what", "WHAT", 10, _reason_cell, what_words, priority=1, prefer=22, grow=120, measure=Measure.TEXT),
)


def searchable_job(job: AnyJob) -> Searchable:
    """What the filter looks at."""
    status = job_status(job)
    states = (status.phase, *((status.reason,) if status.reason else ()))
    return Searchable(texts=(job.name, status.message, what_words(job)), states=states, cost=status.cost_usd)


class JobsState:
    """All jobs, and the cursor up to which they are true."""

    def __init__(self) -> None:
        self.rows: Rows[AnyJob] = Rows(JOB_COLUMNS, sort="age", descending=True, searchable=searchable_job, asks=("state", "cost"))
        self.cursor = -1
        self.loaded = False

    def load(self, snapshot: Snapshot) -> None:
        """Take the jobs of a snapshot instead of what was known."""
        self.rows.clear()
        jobs: list[AnyJob] = [*snapshot.jobs, *snapshot.training_jobs]
        for job in sorted(jobs, key=lambda each: job_status(each).created_at):
            self.rows.put(job.name, job)
        self.cursor = snapshot.cursor
        self.loaded = True

    def fold(self, event: Event) -> bool:
        """Take one event; says whether anything here changed."""
        if event.kind not in KIND_WORDS or event.cursor <= self.cursor:
            return False
        job = job_after(self.rows.find(event.name), event)
        if job is None:
            known = self.rows.find(event.name) is not None
            self.rows.remove(event.name)
            return known
        self.rows.put(event.name, job)
        return True

    def filter(self, chosen: Filter | None) -> None:
        """Show the jobs that a filter keeps, or all."""
        self.rows.filter(chosen)

    def going(self) -> tuple[str, ...]:
        """The jobs that have not ended."""
        return tuple(job.name for job in self.rows.items() if not job_status(job).ended)

    def moving(self) -> bool:
        """Whether some job runs, so that its cost grows by itself."""
        return any(job_status(job).started_at is not None and not job_status(job).ended for job in self.rows.items())

    def summary(self) -> Line:
        """How many jobs are in which phase."""
        counts: dict[str, int] = {}
        for job in self.rows.items():
            phase = job_status(job).phase
            counts[phase] = counts.get(phase, 0) + 1
        return joined(
            [line(Span(f"{counts[phase]} {sign.word.lower()}", sign.tone)) for phase, sign in JOB_SIGNS.items() if phase in counts]
        )

    def words(self, key: str = "J") -> Line:
        """For other views: how many go on, and the key that shows them; nothing where there are none."""
        count = len(self.going())
        return hint(key, f" {count} job{'s' if count != 1 else ''} going", "do('jobs')") if count else ()


def job_facts(job: AnyJob, now: datetime, width: int) -> tuple[Line, ...]:
    """One job in lines: why it is as it is, its time and money, what it runs, what was kept of it."""
    status, sign = job_status(job), job_sign(job_status(job))
    said = ": ".join(part for part in (status.reason or "", _waiting(status, now)) if part) or sign.word
    why = line(Span(f"{sign.glyph} {said}", sign.tone))
    cost, cap = cost_now(job, now), cap_of(job)
    used = share(cost, cap)
    money = line(
        *bar(used, min(20, width // 5), Tone.WARN if used >= 0.9 else Tone.INFO),
        f" {short_usd(cost)} of {display_usd(cap)}",
        muted(f", {display_usd(status.rate_usd)} an hour"),
    )
    kept = sum(each.bytes for each in status.outputs)
    outputs = (
        line(f"{len(status.outputs):,} output{'s' if len(status.outputs) != 1 else ''} kept, {size_text(kept)}") if status.outputs else ()
    )
    notes = tuple(line(Span(f"~ {note}", Tone.WARN)) for note in status.notes)
    more = tuple(each for each in (_serves(job, now), *score_lines(job), outputs) if each)
    done = tuple(each for each in (progress_line(job, width),) if each)
    # A phase that needs no sentence leaves room for its time.
    first, times = ((joined((why, *_times(job, now))),), ()) if said == sign.word else ((why,), (joined(_times(job, now)),))
    return (*first, *done, money, *times, what_line(job), *more, *notes)


def _serves(job: AnyJob, now: datetime) -> Line:
    """What a job that serves is asked for, at which address, how well it answers, and how long it stays; nothing for any other."""
    serving = job_status(job).serving
    if isinstance(job, TrainingJob) or job.spec.serve is None or serving is None:
        return ()
    name = "" if serving.model == serving.family else f" as {serving.model}"
    parts = [line("serves ", strong(serving.family), muted(name))]
    if serving.address is not None:
        parts.append(line(muted(serving.address)))
        word, tone = ("answers", Tone.GOOD) if serving.answering else ("does not answer", Tone.WARN)
        since = f" since {clock_text(serving.since, now)}" if serving.since is not None else ""
        parts.append(line(Span(word, tone), muted(since)))
    if serving.users:
        parts.append(line("used by ", strong(", ".join(serving.users))))
    if serving.stops_at is not None:
        parts.append(line(f"stops {clock_text(serving.stops_at, now)} unless it is used"))
    if serving.restarts:
        parts.append(line(Span(f"started again {serving.restarts}×", Tone.WARN)))
    return joined(parts)


def _times(job: AnyJob, now: datetime) -> tuple[Line, ...]:
    status, spec = job_status(job), job.spec
    asked, rest = machine_words(job)
    devices = "" if asked == "CPU" else f"{given_words(status.hardware, status.device_names) or asked}, "
    machine = line(muted(f"{devices}{rest}"))
    if status.started_at is None:
        return (line(muted(f"created {clock_text(status.created_at, now)}")), machine)
    started = line(muted(f"started {clock_text(status.started_at, now)}"))
    if status.ended_at is not None:
        return (line("took ", strong(exact_span_text(seconds_between(status.started_at, status.ended_at)))), started, machine)
    ends = line(muted(f"ends by {clock_text(status.deadline_at, now)}")) if status.deadline_at is not None else ()
    running = line("runs for ", strong(span_text(seconds_between(status.started_at, now))))
    return (running, ends or line(muted(f"timeout {duration_text(spec.timeout)}")), machine)


def kill_job_question(job: AnyJob, now: datetime) -> Question:
    """Ending a job."""
    serving = job_status(job).serving
    users = serving.users if serving is not None else ()
    bereft = f"{', '.join(users)} use{'s' if len(users) == 1 else ''} it: runs wait then, and calls in flight are lost."
    how = "It is asked to end (SIGTERM); what has not ended after its grace is killed, with all that it started."
    if waits_for_budget(job):
        how = "A budget stopped it, and it would go on when that has room. Killed, it does not."
    lines = (
        *((line(Span(bereft, Tone.WARN)),) if users else ()),
        line(how),
        line(strong(f"{short_usd(cost_now(job, now))} is spent"), ". Its log and the outputs that are there are kept."),
    )
    return Question(f"Kill job {job.name}?", lines, "Kill")


def extend_problem(job: AnyJob) -> str:
    """Why a higher cap would change nothing, as a sentence; empty where it can be given one."""
    status = job_status(job)
    return f"{job.name} has succeeded: nothing is left to pay for." if status.phase == "Succeeded" and status.reason is None else ""


def retry_problem(job: AnyJob) -> str:
    """Why it cannot be tried again, as a sentence; empty where it can."""
    status = job_status(job)
    if not status.ended:
        return f"{job.name} has not ended ({status.phase}); only a job that has ended can be tried again."
    if status.phase == "Succeeded" and status.reason is None:
        return f"{job.name} has succeeded; launch it under another name to run it anew."
    return ""


def retry_job_question(job: AnyJob, now: datetime) -> Question:
    """Another attempt."""
    cost, cap = cost_now(job, now), cap_of(job)
    lines = (
        line(f"It begins attempt {job_status(job).attempt + 1} in its work folder as it is; its log goes on."),
        line(strong(f"{short_usd(cost)} of {display_usd(cap)}"), " is spent; all attempts count under that cap."),
    )
    return Question(f"Try {job.name} again?", lines, "Retry")


def extend_job_lines(job: AnyJob, now: datetime) -> tuple[Line, ...]:
    """What a higher cap does."""
    status = job_status(job)
    onward = {
        "MaxCostReached": "It goes on at once with its next attempt.",
    }.get(status.reason or "", "r begins its next attempt." if status.ended else "It is raised in place, and its end moves.")
    return (
        line(f"{display_usd(cap_of(job))} is the cap; ", strong(f"{short_usd(cost_now(job, now))} is spent"), "."),
        *((line(muted(as_sentence(status.message))),) if status.message else ()),
        line(onward),
    )
