"""From results to an exit code. Pure: the rules that a pipeline relies on (docs/cli.md), in one place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.contract.phases import CaseState, GroupPhase, Reason
from nodus_tui.statistics.coverage import unscored_words, why_unscored
from nodus_tui.statistics.scores import COVERAGE, PASS_RATE, of_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodus_tui.contract.resources.training_job import TaskScore
    from nodus_tui.contract.results import CaseResult, GroupResults

_CAP_REASONS = frozenset({Reason.MAX_COST_REACHED, Reason.BUDGET_EXCEEDED, Reason.SANDBOX_LIMIT_REACHED})
_NOT_ABOUT_THE_AGENT = frozenset({Reason.INFRASTRUCTURE_FAILURE, Reason.EVALUATION_TIMEOUT, Reason.PREPARATION_FAILED})


class Gate(Struct, frozen=True):
    """What the results must reach. None of `min_coverage` means that every case must be scored."""

    min_pass_rate: float | None = None
    min_coverage: float | None = None


class Judgement(Struct, frozen=True):
    """The exit code and, unless it is DONE, why: whole sentences."""

    code: Exit
    sentences: tuple[str, ...] = ()


def judge(results: GroupResults, gate: Gate, *, ended_stalled: bool = False) -> Judgement:
    """The exit code for one group as it stands; `ended_stalled` when the timeout fell while its cases waited on a cap.

    Interrupted comes before everything; then coverage: too little of it is told by its cause (infrastructure, cap, else the gate),
    for a pass rate over too few cases says nothing; then the pass rate.
    """
    name = results.group
    if results.phase is GroupPhase.INTERRUPTED:
        return Judgement(Exit.INTERRUPTED, (f"{name} is interrupted; go on with `nodus-tui resume {name}`",))
    if results.phase is GroupPhase.FAILED:
        return Judgement(Exit.INFRASTRUCTURE, (f"{name} failed: its cases could not be prepared",))
    covered = _coverage(results, gate, ended_stalled=ended_stalled)
    if covered is not None:
        return covered
    if gate.min_pass_rate is None or results.environment is None:
        return Judgement(Exit.DONE)
    if results.pass_rate is None or results.pass_rate < gate.min_pass_rate:
        shown = "none" if results.pass_rate is None else f"{100 * results.pass_rate:.1f}%"
        return Judgement(Exit.GATE, (f"{name}: the pass rate is {shown}, below the gate of {100 * gate.min_pass_rate:.1f}%",))
    return Judgement(Exit.DONE)


def judge_all(results: tuple[GroupResults, ...], gate: Gate, ended_stalled: frozenset[str] = frozenset()) -> Judgement:
    """Every group must pass; the gravest code speaks for all."""
    judgements = [judge(each, gate, ended_stalled=each.group in ended_stalled) for each in results]
    return Judgement(gravest(tuple(each.code for each in judgements)), tuple(text for each in judgements for text in each.sentences))


def judge_scores(name: str, scores: Sequence[TaskScore], gate: Gate) -> Judgement:
    """The exit code for a TrainingJob that has succeeded. What of an Environment is not scored, its grader broke on."""
    if not of_environment(scores):
        if gate == Gate():
            return Judgement(Exit.DONE)
        return Judgement(Exit.USAGE, (f"{name} scored benchmark tasks, whose figures are no pass rate: a gate does not fit them",))
    by_metric = {each.metric: each for each in scores}
    coverage, rate = by_metric[COVERAGE], by_metric.get(PASS_RATE)
    scored = f"{rate.samples if rate else 0}/{coverage.samples}"
    if coverage.value < (1.0 if gate.min_coverage is None else gate.min_coverage):
        return Judgement(Exit.INFRASTRUCTURE, (f"{name}: coverage is {scored}: the grader failed on the others",))
    if gate.min_pass_rate is not None and (rate is None or rate.value < gate.min_pass_rate):
        shown = "none" if rate is None else f"{100 * rate.value:.1f}%"
        return Judgement(Exit.GATE, (f"{name}: the pass rate is {shown}, below the gate of {100 * gate.min_pass_rate:.1f}%",))
    return Judgement(Exit.DONE)


def _coverage(results: GroupResults, gate: Gate, *, ended_stalled: bool) -> Judgement | None:
    """Why the coverage is not enough; None when it is."""
    settled, total = _settled(results), len(results.results)
    if total == 0 or settled == 0:
        return _short(results, "nothing is scored", ended_stalled=ended_stalled)
    if gate.min_coverage is None:
        return (
            _short(results, f"{total - settled} of {total} cases are not scored", ended_stalled=ended_stalled) if settled < total else None
        )
    if settled / total < gate.min_coverage:
        return _short(
            results, f"coverage is {settled}/{total}, below the gate of {100 * gate.min_coverage:.1f}%", ended_stalled=ended_stalled
        )
    return None


def _settled(results: GroupResults) -> int:
    return sum(case.state in {CaseState.SCORED, CaseState.ANSWERED} for case in results.results)


def _short(results: GroupResults, what: str, *, ended_stalled: bool) -> Judgement:
    missing = [case for case in results.results if case.state not in {CaseState.SCORED, CaseState.ANSWERED}]
    causes = tuple(_cause(case, results.phase, ended_stalled=ended_stalled) for case in missing)
    told = unscored_words(unscored_reasons(results))
    sentence = f"{results.group}: {what}" + (f" ({told})" if told else "")
    return Judgement(gravest(causes) if causes else Exit.GATE, (sentence, *_what_broke(results, missing)))


def _what_broke(results: GroupResults, missing: Sequence[CaseResult]) -> tuple[str, ...]:
    """The commonest words of what the infrastructure broke, whole: a table may have no room for them. Empty where nothing broke."""
    words = Counter(case.message for case in missing if case.reason is Reason.INFRASTRUCTURE_FAILURE and case.message)
    if not words:
        return ()
    message, count = words.most_common(1)[0]
    times = f", {count} times" if count > 1 else ""
    again = f"; `nodus-tui retry {results.group}` tries again" if results.phase.ended else ""
    return (f"{results.group}: {message.rstrip('.')}{times}{again}",)


def _cause(case: CaseResult, phase: GroupPhase, *, ended_stalled: bool) -> Exit:
    if ended_stalled and case.reason is Reason.EVALUATION_TIMEOUT:
        return Exit.CAP
    code = unscored_exit(case.reason)
    return Exit.INFRASTRUCTURE if code is Exit.GATE and not phase.ended else code


def unscored_exit(reason: Reason | None) -> Exit:
    """What a run that ended without a verdict that counts means, by its reason."""
    if reason in _CAP_REASONS:
        return Exit.CAP
    if reason is Reason.INTERRUPTED:
        return Exit.INTERRUPTED
    if reason in _NOT_ABOUT_THE_AGENT:
        return Exit.INFRASTRUCTURE
    # Killed by a person, or out of turns: the cases are missing, and nothing is broken.
    return Exit.GATE


def unscored_reasons(results: GroupResults) -> dict[str, int]:
    """Cases without a verdict that counts, by reason (by state where there is none), the most frequent first."""
    return why_unscored((case.state, case.reason) for case in results.results)
