"""Results as people read them: the table of cases, and the lines under it. Pure."""

from decimal import Decimal

from nodus_tui.cli.cell_texts import seconds_text
from nodus_tui.cli.gate import unscored_reasons
from nodus_tui.cli.output import csv_text, json_text, pairs_text, table_text, yaml_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.phases import CaseState, Verdict
from nodus_tui.contract.results import CaseResult, GroupResults
from nodus_tui.result_formats import case_table
from nodus_tui.statistics.coverage import cost_each_words, unscored_words
from nodus_tui.statistics.format import interval_words, rate_text_of

FORMATS = ("table", "json", "yaml", "csv")

_TITLES = ("TASK", "REP", "RUN", "STATE", "VERDICT", "REWARD", "COST", "CAP", "IN", "OUT", "QUEUED", "TOOK", "REASON")
_FIGURES = frozenset({"REP", "REWARD", "COST", "CAP", "IN", "OUT", "QUEUED", "TOOK"})


def results_text(results: tuple[GroupResults, ...], output: str) -> str:
    """The results in one of `FORMATS`. JSON is one object for one group, a list for several; YAML a document each; CSV a line each case."""
    if output == "json":
        documents = [each.to_document() for each in results]
        return json_text(documents[0] if len(documents) == 1 else list(documents))
    if output == "yaml":
        return yaml_text([each.to_document() for each in results])
    if output == "csv":
        return csv_text(*case_table(results))
    return "\n\n".join(f"{cases_table(each)}\n\n{summary_text(each)}" for each in results)


def cases_table(results: GroupResults) -> str:
    """One line a case, in their order."""
    return table_text(_TITLES, [_case_row(case) for case in results.results], right=_FIGURES)


def _case_row(case: CaseResult) -> tuple[str, ...]:
    reason = case.reason.value if case.reason else ""
    return (
        case.task_id,
        str(case.repetition),
        case.run,
        case.state.value,
        case.verdict.value if case.verdict else "-",
        "-" if case.reward is None else f"{case.reward:.3g}",
        display_usd(case.cost_usd),
        display_usd(case.cap_usd),
        f"{case.input_tokens:,}",
        f"{case.output_tokens:,}",
        seconds_text(case.queued_seconds),
        seconds_text(case.duration_seconds),
        ": ".join(part for part in (reason, case.message) if part) if case.state is not CaseState.SCORED else reason,
    )


def headline(results: GroupResults) -> str:
    """`62.0% ± 9.5 (SE 4.9), 97/100 scored`; for a group whose caller grades, how many answered."""
    if results.environment is None:
        answered = sum(case.state is CaseState.ANSWERED for case in results.results)
        return f"{answered}/{len(results.results)} answered; the caller grades"
    return rate_text_of(results)


def summary_text(results: GroupResults) -> str:
    """The pass rate with its error and coverage, what is unscored and why, the money, and what was scored."""
    return pairs_text(
        [
            ("Group", f"{results.group} ({results.phase.value})"),
            ("Pass rate", headline(results)),
            ("95% interval", interval_words(results.ci95, results.ci_method, results.standard_error_method)),
            ("Mean reward", "" if results.mean_reward is None else f"{results.mean_reward:.3g}"),
            ("Not scored", unscored_words(unscored_reasons(results))),
            ("Cost", cost_text(results)),
            ("Cost each", _cost_each(results)),
            ("Agent", f"{results.agent.name}, revision {results.agent.revision}"),
            ("Model", results.model + (" (simulated)" if results.simulated else "")),
            ("Environment", _environment(results)),
        ]
    )


def cost_text(results: GroupResults) -> str:
    """What was spent of the cap, what of it is unconfirmed, and whether anybody pays it."""
    cost = results.cost
    parts = [f"{display_usd(cost.model_usd)} of {display_usd(cost.cap_usd)} on models"]
    if cost.sandbox_usd > Decimal(0):
        parts.append(f"{display_usd(cost.sandbox_usd)} on sandboxes, apart from the cap")
    if cost.unconfirmed_usd > Decimal(0):
        parts.append(f"{display_usd(cost.unconfirmed_usd)} unconfirmed: calls with an unknown outcome, charged their worst case")
    if results.simulated:
        parts.append("simulated: nobody pays it")
    elif results.notional_price:
        parts.append("notional price: nobody pays it")
    return "; ".join(parts)


def _cost_each(results: GroupResults) -> str:
    correct = sum(case.verdict is Verdict.CORRECT for case in results.results)
    return cost_each_words(results.cost.model_usd, scored=results.coverage.scored, correct=correct)


def _environment(results: GroupResults) -> str:
    environment = results.environment
    if environment is None:
        return ""
    lines = [f"{environment.name}@{environment.version}, split {environment.split}, seed {environment.seed}", environment.digest]
    lines += [f"image {image}" for image in environment.images]
    lines += [f"weaker grader: {environment.weaker_grader}"] if environment.weaker_grader else []
    return "\n".join(lines)
