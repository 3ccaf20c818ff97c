"""`results`: what a group, a TrainingJob or a sweep has come to, as it stands."""

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate, judge
from nodus_tui.cli.options import TargetType, gate_options, output_option
from nodus_tui.cli.output import emit
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.summary import FORMATS, results_text, summary_text
from nodus_tui.cli.targets import split_target
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.results import GroupResults


@click.command("results")
@click.argument("group", type=TargetType())
@click.option("--summary", is_flag=True, help="The summary alone, without the table of cases.")
@gate_options
@output_option(*FORMATS, "jsonl")
def command(group: str, min_pass_rate: float | None, min_coverage: float | None, output: str, *, summary: bool) -> int:
    """The verdicts of GROUP with its pass rate, error, coverage and cost, as they stand now. Of tj/NAME the scores of a TrainingJob,
    of sweep/NAME its cells, and what shards and repetitions come to together.

    With -o jsonl each case of a group is a line, with its whole conversation and its calls.

    Reading is exit 0 whatever the results are; with --min-pass-rate or --min-coverage the exit code is that of `run`.
    """
    gate = Gate(min_pass_rate=min_pass_rate, min_coverage=min_coverage)
    gated = min_pass_rate is not None or min_coverage is not None
    kind, name = split_target(group) if "/" in group else ("AgentGroup", group)
    if output == "jsonl" and kind != "AgentGroup":
        raise click.UsageError(f"-o jsonl is for groups, and {group} is none: a sweep's cells are groups of their own")
    if kind == "TrainingJob":
        from nodus_tui.cli.jobs import judge_job  # noqa: PLC0415 - the results of a group need nothing of jobs and sweeps
        from nodus_tui.cli.training_results import training_results, training_text  # noqa: PLC0415 - see above

        job, document = with_backend("look", lambda backend: training_results(backend, name))
        emit(training_text(job, document, output, summary=summary))
        return judge_job(job, gate) if gated else Exit.DONE
    if kind == "Sweep":
        return with_backend("look", lambda backend: _sweep(backend, name, gate if gated else None, output, summary=summary))
    if kind != "AgentGroup":
        raise click.UsageError(f"{group} has no results: groups, TrainingJobs (tj/NAME) and sweeps (sweep/NAME) have")

    results = with_backend("look", lambda backend: _told(backend, name, output, summary=summary))
    if not gated:
        return Exit.DONE
    judgement = judge(results, gate)
    for sentence in judgement.sentences:
        say(sentence)
    return judgement.code


async def _told(backend: Backend, group: str, output: str, *, summary: bool) -> GroupResults:
    """The results of a group, told on stdout."""
    results = await backend.results(group)
    if output == "jsonl":
        from nodus_tui.cli.case_lines import case_lines  # noqa: PLC0415 - see above

        async for told in case_lines(backend, results):
            emit(told)
    else:
        emit(summary_text(results) if summary and output == "table" else results_text((results,), output))
    return results


async def _sweep(backend: Backend, name: str, gate: Gate | None, output: str, *, summary: bool) -> int:
    from nodus_tui.cli.sweep_texts import sweep_results_text, sweep_summary  # noqa: PLC0415 - see above
    from nodus_tui.cli.sweeps import judge_sweep  # noqa: PLC0415 - see above

    results = await backend.sweep_results(name)
    emit(sweep_summary(results) if summary and output == "table" else sweep_results_text((results,), output))
    if gate is None:
        return Exit.DONE
    judgement = await judge_sweep(backend, results, gate)
    for sentence in judgement.sentences:
        say(sentence)
    return judgement.code
