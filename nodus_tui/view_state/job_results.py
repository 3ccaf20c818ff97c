"""The results of a TrainingJob: each task's metrics with their errors; of an Environment also the verdict on each of its tasks. Pure.

Its results.json comes from a process that others wrote: what is not of the expected form is left out.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import CaseState, Verdict
from nodus_tui.contract.resources.training_job import TaskScore, TrainingJob
from nodus_tui.statistics.format import interval_words
from nodus_tui.statistics.scores import COVERAGE, MEAN_REWARD, environment_text, figure, of_environment
from nodus_tui.view_state.any_job import job_status, what_line
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.figures import NOTHING, reward_text, shorter_reward_texts
from nodus_tui.view_state.filter_fields import Searchable
from nodus_tui.view_state.filtering import Filter
from nodus_tui.view_state.jobs import cap_of, cost_now
from nodus_tui.view_state.key_actions import KeyNamer, own_key
from nodus_tui.view_state.result_cases import sign_of
from nodus_tui.view_state.rows import Rows


class ScoreRow(Struct, frozen=True):
    """One metric of one benchmark task."""

    place: int
    score: TaskScore
    shots: str
    """Worked examples before each prompt, in words."""


class JudgedTask(Struct, frozen=True):
    """One task of an Environment, with the verdict on its answer."""

    place: int
    task_id: str
    verdict: Verdict | None
    reward: float | None
    message: str


def _error_cell(row: ScoreRow, _now: datetime) -> Line:
    error = row.score.standard_error
    return line(NOTHING) if error is None else line(f"±{error:.3g}")


def _interval_cell(row: ScoreRow, _now: datetime) -> Line:
    if row.score.ci95 is None:
        return line(NOTHING)
    low, high = row.score.ci95
    return line(f"{figure(low)} to {figure(high)}")


SCORE_COLUMNS: tuple[Column[ScoreRow], ...] = (
    Column(
        "task",
        "TASK",
        14,
        lambda row, _now: line(strong(row.score.task)),
        lambda row: row.score.task,
        grow=30,
        least=8,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column(
        "metric",
        "METRIC",
        10,
        lambda row, _now: line(row.score.metric),
        lambda row: row.score.metric,
        grow=16,
        least=6,
        measure=Measure.TEXT,
    ),
    Column(
        "value",
        "VALUE",
        7,
        lambda row, _now: line(strong(figure(row.score.value))),
        lambda row: row.score.value,
        right=True,
        measure=Measure.COUNT,
    ),
    Column("error", "SE", 8, _error_cell, lambda row: row.score.standard_error, right=True, measure=Measure.COUNT),
    Column("interval", "95%", 16, _interval_cell, lambda row: row.score.ci95[0] if row.score.ci95 else None, figures=True, priority=2),
    Column(
        "samples",
        "N",
        7,
        lambda row, _now: line(f"{row.score.samples:,}"),
        lambda row: row.score.samples,
        right=True,
        measure=Measure.COUNT,
    ),
    Column("shots", "SHOTS", 8, lambda row, _now: line(muted(row.shots)), lambda row: row.shots, right=True, priority=1),
)


def _judged_sign(row: JudgedTask) -> Line:
    return sign_of(row.verdict, CaseState.UNSCORED)[1].spans()


def _judged_word(row: JudgedTask) -> str:
    return sign_of(row.verdict, CaseState.UNSCORED)[1].word


JUDGED_COLUMNS: tuple[Column[JudgedTask], ...] = (
    Column(
        "task",
        "TASK",
        14,
        lambda row, _now: line(row.task_id),
        lambda row: row.task_id,
        grow=28,
        least=6,
        middle=True,
        measure=Measure.TEXT,
    ),
    Column("verdict", "VERDICT", 12, lambda row, _now: _judged_sign(row), _judged_word, least=10),
    Column(
        "reward",
        "REWARD",
        6,
        lambda row, _now: line(NOTHING if row.reward is None else reward_text(row.reward)),
        lambda row: row.reward,
        grow=3,
        right=True,
        shorter=lambda row, _now: tuple(line(text) for text in shorter_reward_texts(row.reward or 0)),
        measure=Measure.COUNT,
    ),
    Column("message", "WHAT THE GRADER SAYS", 20, lambda row, _now: line(muted(row.message)), lambda row: row.message, grow=80, priority=1),
)


class JobResultsState:
    """What one TrainingJob has come to: its scores, and its results.json once that was read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.job: TrainingJob | None = None
        self.document: Mapping[str, Any] = {}
        self.rows: Rows[Any] = Rows(SCORE_COLUMNS, searchable=searchable_score)
        self._filter: Filter | None = None

    @property
    def loaded(self) -> bool:
        """Whether the job is known."""
        return self.job is not None

    @property
    def judged(self) -> bool:
        """Whether the rows are tasks with verdicts, and not scores."""
        return self.rows.columns == JUDGED_COLUMNS

    def look(self, job: TrainingJob | None) -> None:
        """Take the job as it stands now."""
        if job is not self.job:
            self.job = job
            self._put()

    def take(self, document: Mapping[str, Any]) -> None:
        """Take its results.json."""
        self.document = document
        self._put()

    def _put(self) -> None:
        judged = self._judged()
        if judged and not self.judged:
            self.rows = Rows(JUDGED_COLUMNS, searchable=searchable_judged, asks=("verdict",))
            self.filter(self._filter)
        self.rows.clear()
        if judged:
            for each in judged:
                self.rows.put(str(each.place), each)
            return
        for place, score in enumerate(self._scores()):
            self.rows.put(str(place), ScoreRow(place, score, self._shots(score.task)))

    def _scores(self) -> tuple[TaskScore, ...]:
        return self.job.status.scores if self.job is not None and self.job.status is not None else ()

    def _judged(self) -> list[JudgedTask]:
        environment = self.document.get("environment")
        cases = environment.get("results") if isinstance(environment, Mapping) else None
        return [
            _judged_task(place, case) for place, case in enumerate(cases if isinstance(cases, list) else []) if isinstance(case, Mapping)
        ]

    def _shots(self, task: str) -> str:
        """As the harness tells it; before that, what was asked for."""
        tasks = self.document.get("tasks")
        told = tasks.get(task) if isinstance(tasks, Mapping) else None
        shots = told.get("fewshot") if isinstance(told, Mapping) else None
        if isinstance(shots, int):
            return f"{shots}"
        if self.job is None or self.job.spec.environment is not None:
            return "–"
        asked = self.job.spec.parameters.num_fewshot
        return "its own" if asked is None else f"{asked}"

    def filter(self, chosen: Filter | None) -> None:
        """Show the rows that a filter keeps, or all."""
        self._filter = chosen
        self.rows.filter(chosen)

    def moving(self) -> bool:
        """Its cost grows while it runs."""
        return self.job is not None and not job_status(self.job).ended

    def head(self, now: datetime, key: KeyNamer = own_key) -> tuple[Line, ...]:
        """The lines above the table."""
        job = self.job
        if job is None:
            return ()
        status, scores = job_status(job), self._scores()
        incomplete = line(Span("~ it did not come to its end: figures are of what was scored", Tone.WARN))
        cost = line(strong(display_usd(cost_now(job, now))), muted(f" of {display_usd(cap_of(job))}"))
        lines = [
            what_line(job),
            *(self._environment_lines(scores) if of_environment(scores) else ()),
            joined((self._asked(job), cost)),
            incomplete if status.ended and scores and self.document.get("complete") is False else (),
            line(Span(status.message, Tone.MUTED if status.phase == "Succeeded" else Tone.WARN)),
            self._outputs(job, key("open"), key("files")),
        ]
        return tuple(each for each in lines if each)

    def _environment_lines(self, scores: tuple[TaskScore, ...]) -> tuple[Line, ...]:
        rewards = (line(muted(f"mean reward {figure(each.value)}")) for each in scores if each.metric == MEAN_REWARD)
        told = self.document.get("environment")
        rate = next((each for each in scores if each.ci95 is not None), None)
        words = ""
        if rate is not None and isinstance(told, Mapping):
            words = interval_words(rate.ci95, str(told.get("ciMethod", "")), str(told.get("standardErrorMethod", "")))
        missing = next((each.samples for each in scores if each.metric == COVERAGE), 0) - (rate.samples if rate is not None else 0)
        left = line(Span(f"{missing} not scored", Tone.WARN), muted(" (they are no zeros)")) if missing and rate else ()
        return joined((line(strong(environment_text(scores))), *rewards)), joined((line(words), left))

    def _asked(self, job: TrainingJob) -> Line:
        parameters = job.spec.parameters
        shots = "few-shot as each task has it" if parameters.num_fewshot is None else f"{parameters.num_fewshot}-shot"
        limit = f"at most {parameters.limit:,} samples a task" if parameters.limit is not None else "whole tasks"
        parts = (shots if job.spec.environment is None else "", limit, f"seed {parameters.seed}")
        return line(muted(" · ".join(part for part in parts if part)))

    def _outputs(self, job: TrainingJob, open_key: str, files_key: str) -> Line:
        kept = [each.path for each in job_status(job).outputs]
        if not kept:
            return ()
        named = [path.rpartition("/")[2] for path in kept if path.count("/") == 1 and path.endswith(".json")]
        told = f", among them {', '.join(named)}" if named else ""
        where = f": {open_key} opens the job, where {files_key} saves them"
        return line(muted(f"{len(kept):,} outputs{told}{where}"))


def _judged_task(place: int, case: Mapping[str, Any]) -> JudgedTask:
    word, reward = case.get("verdict"), case.get("reward")
    verdict = next((each for each in Verdict if each.value == word), None)
    known = float(reward) if isinstance(reward, int | float) else None
    return JudgedTask(place, str(case.get("taskId", "")), verdict, known, str(case.get("message") or ""))


def searchable_score(row: ScoreRow) -> Searchable:
    """What the filter looks at."""
    return Searchable(texts=(row.score.task, row.score.metric))


def searchable_judged(row: JudgedTask) -> Searchable:
    """The same of a judged task."""
    return Searchable(texts=(row.task_id, row.message), verdict=row.verdict.value if row.verdict else "")
