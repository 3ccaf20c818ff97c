"""`run`: apply a spec, wait for its groups, jobs and sweeps, print their results."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Literal

import click

from nodus_tui.cli.boxes import enter_words, wait_for_sandboxes
from nodus_tui.cli.exits import Exit, gravest
from nodus_tui.cli.failures import say
from nodus_tui.cli.gate import Gate
from nodus_tui.cli.jobs import AnyJob, server_words, wait_for_jobs
from nodus_tui.cli.options import DurationType, FilesCommand, files_option, gate_options, output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.session import author, with_backend
from nodus_tui.cli.signals import signals_kept
from nodus_tui.cli.specs import load_files
from nodus_tui.cli.summary import FORMATS
from nodus_tui.cli.sweeps import run_sweeps
from nodus_tui.cli.targets import JOB_WORDS
from nodus_tui.cli.waiting import Reached, WaitOptions, report, wait_and_report
from nodus_tui.connect import chosen_way
from nodus_tui.contract.actions import Resume
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.outcomes import ApplyOutcome
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.job import Job, Serving
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.values import replace


@click.command("run", cls=FilesCommand)
@files_option()
@click.option("--as", "as_name", metavar="NAME", help="Run the spec's one group (or job, sweep or sandbox) under another name.")
@gate_options
@click.option("--keep-waiting", is_flag=True, help="Wait on while every unfinished case waits on a cap, rather than exit 3.")
@click.option("--timeout", type=DurationType(), help="Stop gracefully after this time (90s, 10m) and exit 4; everything is kept.")
@click.option("-d", "--detach", is_flag=True, help="Do not wait: the workspace's scheduler works on. Prints what was applied.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
@output_option(*FORMATS)
def command(
    files: tuple[str, ...],
    as_name: str | None,
    min_pass_rate: float | None,
    min_coverage: float | None,
    timeout: timedelta | None,
    output: str,
    *,
    keep_waiting: bool,
    detach: bool,
    quiet: bool,
) -> int:
    """Launch the groups, jobs, sweeps and sandboxes of a spec, wait for them with progress on stderr, and print their results on stdout.

    A job's output goes to stderr as it comes; Ctrl-C ends the waiting, and the job goes on. A sweep is paused by Ctrl-C. A sandbox is
    waited for until it runs.

    A group that exists unchanged is not run twice: what it has is printed, and where it was interrupted it goes on.
    The exit code is 0 when everything is scored and passes the gate; else see the table in docs/cli.md.
    """
    bundle = load_files(files, groups_renamed=bool(as_name))
    if as_name:
        bundle = renamed(bundle, as_name)
    if not _groups(bundle) and not _jobs(bundle) and not _sweeps(bundle) and not _boxes(bundle):
        kinds = "there is no AgentGroup, no Job, no TrainingJob, no Sweep and no Sandbox in these files"
        raise click.UsageError(f"{kinds}, so nothing to run; `nodus-tui apply` stores other kinds")
    if min_pass_rate is not None and any(group.spec.evaluation is None for group in _groups(bundle)):
        raise click.UsageError("--min-pass-rate needs groups with `evaluation`: the caller grades the others")
    if (min_pass_rate is not None or min_coverage is not None) and any(job.spec.environment is None for job in _training_jobs(bundle)):
        raise click.UsageError("a gate needs TrainingJobs that score an `environment`: a benchmark's figures are no pass rate")
    gate = Gate(min_pass_rate=min_pass_rate, min_coverage=min_coverage)
    options = WaitOptions(gate=gate, output=output, quiet=quiet, keep_waiting=keep_waiting, timeout=timeout, launches=True)
    if detach and chosen_way().in_process:
        raise click.UsageError("--detach leaves the work to the workspace's scheduler, and --in-process has none: leave one of them out")

    if _boxes(bundle) and chosen_way().in_process:
        raise click.UsageError("a Sandbox lives as long as its scheduler, and --in-process ends with this command: leave it out")

    async def ask(backend: Backend) -> int:
        with signals_kept():
            outcome = await backend.apply(bundle, author=author())
            await _refuse_older_agents(backend, bundle)
            servers = _servers(bundle)
            return await (_leave(backend, outcome, output, servers) if detach else _wait_for_all(backend, outcome, options, servers))

    return with_backend("work", ask)


def _groups(bundle: SpecBundle) -> list[AgentGroup]:
    return [each.resource for each in bundle if isinstance(each.resource, AgentGroup)]


def _jobs(bundle: SpecBundle) -> list[AnyJob]:
    return [each.resource for each in bundle if isinstance(each.resource, Job | TrainingJob)]


def _training_jobs(bundle: SpecBundle) -> list[TrainingJob]:
    return [each.resource for each in bundle if isinstance(each.resource, TrainingJob)]


def _sweeps(bundle: SpecBundle) -> list[Sweep]:
    return [each.resource for each in bundle if isinstance(each.resource, Sweep)]


def _boxes(bundle: SpecBundle) -> list[Sandbox]:
    return [each.resource for each in bundle if isinstance(each.resource, Sandbox)]


def _servers(bundle: SpecBundle) -> dict[str, Serving]:
    """The jobs that serve models, by name."""
    return {job.name: job.spec.serve for job in _jobs(bundle) if isinstance(job, Job) and job.spec.serve is not None}


def renamed(bundle: SpecBundle, name: str) -> SpecBundle:
    """The bundle with its one group under another name; without groups its one job, then its one sweep, then its one Sandbox.

    Raises UsageError when it has not exactly one, or the name is none.
    """
    named: Sequence[AgentGroup | AnyJob | Sweep | Sandbox] = _groups(bundle) or _jobs(bundle) or _sweeps(bundle) or _boxes(bundle)
    if len(named) != 1:
        words = {"AgentGroup": "group", "Sweep": "sweep", "Sandbox": "sandbox"}
        word = words.get(named[0].kind, "job") if named else "group"
        raise click.UsageError(f"--as names one {word}, and there are {len(named)} in these files")
    documents = []
    for document in bundle:
        resource = document.resource
        if resource is named[0]:
            raw = resource.to_document()
            raw["metadata"] = {**resource.metadata.to_document(), "name": name}
            try:
                resource = type(resource).model_validate(raw)
            except ValueError:
                raise click.UsageError(f"--as {name!r}: a name has 1 to 63 small letters, digits, dots and hyphens") from None
        documents.append(replace(document, resource=resource))
    return replace(bundle, documents=tuple(documents))


async def _refuse_older_agents(backend: Backend, bundle: SpecBundle) -> None:
    """A group keeps to the revision it was launched with: its results are not those of an agent that was changed since."""
    for group in _groups(bundle):
        if not any(each.resource.kind == "Agent" and each.resource.name == group.spec.agent for each in bundle):
            continue
        agent, launched = await backend.get("Agent", group.spec.agent), await backend.get("AgentGroup", group.name)
        newest = agent.status.revision if isinstance(agent, Agent) and agent.status else 0
        pinned = launched.status.agent_revision if isinstance(launched, AgentGroup) and launched.status else 0
        if newest > pinned:
            raise NodusError(
                ErrorCode.CONFLICT,
                f"{group.name} was launched with revision {pinned} of {group.spec.agent}, and the spec is revision {newest}: "
                f"its results are not those of this spec. `--as NAME` runs the spec under another name, `nodus-tui results {group.name}` "
                "prints what is there",
            )


async def _leave(backend: Backend, outcome: ApplyOutcome, output: str, servers: Mapping[str, Serving]) -> int:
    names, standing = _launched(outcome)
    for name in names:
        if name not in standing or await _how_it_stands(backend, name) == "going":
            say(f"{name} goes on in the background; `nodus-tui wait {name}` waits for its results, `nodus-tui` watches")
    for name in _applied_sweeps(outcome):
        say(f"{name} goes on in the background; `nodus-tui wait sweep/{name}` waits for its results, `nodus-tui` watches")
    _tell_servers(servers)
    for name, word in _applied_jobs(outcome).items():
        if name in servers:
            continue
        waits = f"`nodus-tui wait {word}/{name}` waits for it"
        say(f"{name} goes on in the background; `nodus-tui logs --follow {name}` shows its output, {waits}")
    for name in _applied_boxes(outcome):
        say(f"{name} is started in the background; {enter_words(name)}")
    if output == "json":
        emit(json_text(outcome.to_document()))
    return Exit.DONE


def _tell_servers(servers: Mapping[str, Serving]) -> None:
    for name, serve in servers.items():
        say(server_words(name, serve))


def _applied_sweeps(outcome: ApplyOutcome) -> tuple[str, ...]:
    return tuple(each.name for each in outcome.documents if each.kind == "Sweep")


def _applied_boxes(outcome: ApplyOutcome) -> tuple[str, ...]:
    return tuple(each.name for each in outcome.documents if each.kind == "Sandbox")


def _applied_jobs(outcome: ApplyOutcome) -> dict[str, str]:
    """The jobs of either kind by name, with the word by which each is named."""
    words = {str(kind): word for kind, word in JOB_WORDS.items()}
    return {each.name: words[each.kind] for each in outcome.documents if each.kind in words}


async def _wait_for_all(backend: Backend, outcome: ApplyOutcome, options: WaitOptions, servers: Mapping[str, Serving]) -> int:
    if not options.quiet:
        _tell_servers(servers)
    boxes = _applied_boxes(outcome)
    codes = [await wait_for_sandboxes(backend, boxes, options.output, quiet=options.quiet, timeout=options.timeout)] if boxes else []
    codes += [Exit(await _wait(backend, outcome, options))] if _launched(outcome)[0] and Exit.INTERRUPTED not in codes else []
    if _applied_sweeps(outcome) and Exit.INTERRUPTED not in codes:
        codes.append(await run_sweeps(backend, outcome, options))
    # A server is not waited for: it ends when nobody uses it any more, or when somebody kills it.
    jobs = tuple(name for name in _applied_jobs(outcome) if name not in servers)
    if jobs and Exit.INTERRUPTED not in codes:
        codes.append(
            await wait_for_jobs(backend, jobs, options.output, logs=True, quiet=options.quiet, timeout=options.timeout, gate=options.gate)
        )
    return gravest(tuple(codes))


def _launched(outcome: ApplyOutcome) -> tuple[tuple[str, ...], set[str]]:
    """The groups, and those of them that stood there unchanged."""
    groups = [each for each in outcome.documents if each.kind == "AgentGroup"]
    return tuple(each.name for each in groups), {each.name for each in groups if each.outcome == "unchanged"}


async def _wait(backend: Backend, outcome: ApplyOutcome, options: WaitOptions) -> int:
    names, standing = _launched(outcome)
    ended = [name for name in names if name in standing and await _how_it_stands(backend, name) == "ended"]
    if len(ended) == len(names):
        return await report(backend, names, options, Reached())
    return await wait_and_report(backend, names, options)


async def _how_it_stands(backend: Backend, name: str) -> Literal["ended", "going"]:
    """Tell what is done with a group that was there before; an interrupted one goes on."""
    group = await backend.get("AgentGroup", name)
    phase = group.status.phase if isinstance(group, AgentGroup) and group.status else GroupPhase.PENDING
    if phase is GroupPhase.INTERRUPTED:
        say(f"{name} was interrupted before; it goes on, and nothing is paid twice")
        await backend.act(Resume(group=name, author=author(), why="run again"))
        return "going"
    if phase.ended:
        say(f"{name} is unchanged and has already ended ({phase.value}): these are its results; `--as NAME` runs it anew")
        return "ended"
    say(f"{name} is already under way ({phase.value}) and unchanged")
    return "going"
