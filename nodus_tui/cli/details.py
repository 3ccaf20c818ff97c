"""Resources and transcripts in detail, for `describe`. Foreign text passes safe_text. Pure."""

from datetime import datetime

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.cli.output import pairs_text, table_text
from nodus_tui.cli.rows import row_of, titles_of
from nodus_tui.cli.rows.jobs import cap_text, command_text, hardware_text, progress_text
from nodus_tui.cli.sandbox_texts import sandbox_pairs
from nodus_tui.cli.sweep_texts import sweep_row
from nodus_tui.cli.targets import JOB_WORDS
from nodus_tui.cli.transfers import bytes_text
from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent import Agent, AgentSandbox
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus, CallRecord, Transcript
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.statistics.scores import COVERAGE, PASS_RATE, environment_text, of_environment, with_error
from nodus_tui.view_state.budgets import scope_text, used_bar, used_text
from nodus_tui.view_state.cells import Tone, plain
from nodus_tui.view_state.devices import until_words
from nodus_tui.view_state.figures import bar
from nodus_tui.view_state.run_facts import beside_cpu, devices_text, limits_text, run_pairs
from nodus_tui.view_state.transcript_text import conversation_text

_BAR_CELLS = 24

_COMMAND_CHARACTERS = 1000
_MOST_OUTPUTS = 50

_CALL_TITLES = ("CALL", "STATE", "TURN", "TRY", "RESERVED", "COST", "BOUND", "IN", "CACHED", "OUT", "STARTED", "ENDED", "NOTE")
_CALL_FIGURES = frozenset({"CALL", "TURN", "TRY", "RESERVED", "COST", "BOUND", "IN", "CACHED", "OUT"})


def resource_text(
    resource: Resource, *, now: datetime | None = None, limits: AgentSandbox | None = None, transcript: Transcript | None = None
) -> str:
    """Everything a person wants to know of it; for a run, with `now`, also where its time went, and the limits of its sandbox."""
    common = [("Kind", resource.kind), ("Name", resource.name), ("Project", resource.metadata.project or ""), ("Labels", _labels(resource))]
    match resource:
        case AgentGroup():
            own = _group(resource)
        case AgentRun():
            own = run_pairs(resource, limits=limits, transcript=transcript, now=now, moment=time_text)
        case Agent():
            own = _agent(resource)
        case Job():
            own = _job(resource)
        case TrainingJob():
            own = _training_job(resource)
        case Budget():
            own = _budget(resource)
        case Sweep():
            own = _sweep(resource)
        case Sandbox():
            own = sandbox_pairs(resource)
        case _:
            own = list(zip((title.capitalize() for title in titles_of(resource.kind)[1:]), row_of(resource)[1:], strict=True))
    return pairs_text(common + own)


def _labels(resource: Resource) -> str:
    return ", ".join(f"{key}={value}" for key, value in resource.metadata.labels.items())


def _agent(agent: Agent) -> list[tuple[str, str]]:
    spec = agent.spec
    return [
        ("Revision", str(agent.status.revision) if agent.status else ""),
        ("Updated", time_text(agent.status.updated_at) if agent.status else ""),
        ("Model families", ", ".join(spec.model.families)),
        ("Max tokens", str(spec.model.max_tokens)),
        ("Cap of a run", display_usd(spec.per_run_max_cost_usd)),
        ("Max turns", str(spec.max_turns)),
        ("Tools", ", ".join(spec.tools)),
        ("Sandbox", limits_text(spec.sandbox) if spec.tools else ""),
        ("System", spec.system.rstrip("\n")),
    ]


def _job(job: Job) -> list[tuple[str, str]]:
    spec, status = job.spec, job.status
    pairs = [
        ("Image", spec.image or ""),
        ("Command", command_text(spec.command, _COMMAND_CHARACTERS)),
        ("Working folder", _working_folder(job)),
        ("Machine", f"{beside_cpu(spec)}{spec.cpus:g} CPU, {spec.memory_gib:g} GiB" + ("" if spec.network else ", no network")),
        ("Environment", ", ".join([*spec.env, *(f"{name} (the scheduler's)" for name in spec.env_from)])),
        ("Timeout", duration_text(spec.timeout)),
    ]
    if status is None:
        return pairs
    return [*pairs, *_serving(job), *_job_status(job, status)]


def _working_folder(job: Job) -> str:
    named, status = job.spec.working_dir, job.status
    if status is not None and status.working_dir is not None:
        return status.working_dir
    if named is None:
        return "the image's" if job.spec.image else "its own"
    return named if job.spec.image or named.startswith("/") else f"{named}, below the folder of its spec"


def _serving(job: Job) -> list[tuple[str, str]]:
    """What it serves, where and how well, and who uses it."""
    serve, serving = job.spec.serve, job.status.serving if job.status else None
    if serve is None or serving is None:
        return []
    since = f" since {time_text(serving.since)}" if serving.since else ""
    health = "answers" if serving.answering else "does not answer"
    stays = "kept up" if serve.keep else f"stops {duration_text(serve.stop_after)} after the last one that uses it"
    return [
        ("Serves", f"{serving.family}, asked for as {serving.model}"),
        ("Address", serving.address or f"port {serve.port}, while it runs"),
        ("Health", f"GET {serve.health_path} {health}{since}" if serving.address else f"GET {serve.health_path}"),
        ("Used by", ", ".join(serving.users) or ("nobody now" if serving.address else "nobody")),
        ("Stays up", stays + (f": {time_text(serving.stops_at)}" if serving.stops_at else "")),
        ("Restarts", f"{serving.restarts} of {serve.restarts}" if serve.restarts else ""),
    ]


def _training_job(job: TrainingJob) -> list[tuple[str, str]]:
    spec, status, parameters = job.spec, job.status, job.spec.parameters.to_document()
    resources = spec.resources
    given = [f"{name} {value}" for name, value in parameters.items() if value is not None and name != "tasks"]
    pairs = [
        ("Model", spec.model.uri),
        ("Environment" if spec.environment else "Tasks", spec.environment or ", ".join(spec.parameters.tasks or ())),
        ("Parameters", ", ".join(given)),
        ("Own tasks", "\n".join(spec.include_paths)),
        ("Machine", f"{hardware_text(job)}, {resources.all_cpus:g} CPU, {resources.all_memory_gib:g} GiB"),
        ("Timeout", duration_text(spec.timeout)),
    ]
    if status is None:
        return pairs
    done = (
        "" if status.progress is None or status.ended else f"{plain(bar(status.progress, _BAR_CELLS, Tone.INFO))} {progress_text(status)}"
    )
    return [*pairs, *_job_status(job, status), ("Done", done), ("Results", results_text(job))]


def results_text(job: TrainingJob) -> str:
    """All its scores, one a line; an Environment's as its pass rate."""
    scores = job.status.scores if job.status else ()
    if not scores:
        return ""
    lines = [f"{each.task}  {each.metric}  {with_error(each)}  {each.samples:,} samples" for each in scores if each.metric not in _OF_RATE]
    return "\n".join([environment_text(scores), *lines] if of_environment(scores) else lines)


_OF_RATE = frozenset({PASS_RATE, COVERAGE})
"""What stands in the text of a pass rate."""


def _job_status(job: Job | TrainingJob, status: JobStatus) -> list[tuple[str, str]]:
    target = f"{JOB_WORDS[job.kind]}/{job.name}"
    kept = [f"{each.path}  {bytes_text(each.bytes)}  sha256 {each.sha256}" for each in status.outputs]
    more = [f"and {len(kept) - _MOST_OUTPUTS} more: `nodus-tui cp {target}:` lists them"] if len(kept) > _MOST_OUTPUTS else []
    return [
        ("Phase", ": ".join(part for part in (status.phase, status.reason or "", status.message) if part) + _until(status)),
        ("Devices", devices_text(status.device_names, status.devices)),
        ("Attempt", str(status.attempt) if status.attempt > 1 else ""),
        ("Exit code", "" if status.exit_code is None else str(status.exit_code)),
        ("Cost", f"{display_usd(status.cost_usd)} of {cap_text(job)}, at {display_usd(status.rate_usd)} an hour"),
        ("Electricity", "" if status.energy_wh is None else f"{status.energy_wh:,.3f} Wh by its devices"),
        ("Created", time_text(status.created_at)),
        ("Started", time_text(status.started_at)),
        ("Ended", time_text(status.ended_at)),
        ("Ends by", f"{time_text(status.deadline_at)}, at its cap or its timeout" if status.deadline_at else ""),
        ("Outputs", "\n".join(kept[:_MOST_OUTPUTS] + more)),
        ("Notes", "\n".join(status.notes)),
        ("Log", f"nodus-tui logs {target}"),
    ]


def _until(status: JobStatus | AgentRunStatus) -> str:
    return "" if status.until is None else f", {until_words(time_text(status.until), status.until_kind)}"


def _budget(budget: Budget) -> list[tuple[str, str]]:
    spec, status = budget.spec, budget.status
    action = "new work is refused and running work stops" if spec.action == "Block" else "nothing is stopped"
    notify = [*spec.notify.emails, *([command_text(spec.notify.command, _COMMAND_CHARACTERS)] if spec.notify.command else [])]
    pairs = [
        ("Scope", scope_text(budget)),
        ("Limit", f"{display_usd(spec.limit_usd)}, on models, sandboxes and jobs together"),
        ("At the limit", f"{spec.action}: {action}"),
        ("Thresholds", ", ".join(f"{percent} %" for percent in spec.thresholds)),
        ("Notices", "\n".join(["the scheduler's log", *notify])),
    ]
    if status is None:
        return pairs
    begun = f"{spec.period}, since {time_text(status.period_started_at)}"
    return [
        *pairs,
        ("Period", begun + (f", until {time_text(status.period_ends_at)}" if status.period_ends_at else "")),
        ("Used", f"{plain(used_bar(budget, _BAR_CELLS))} {used_text(budget)}"),
        ("Spent", f"{display_usd(status.spent_usd)}; {display_usd(status.left_usd)} left"),
        ("Blocking", f"yes: {status.message}" if status.blocking else "no"),
        ("Told", ", ".join(f"{percent} %" for percent in status.thresholds_told)),
        ("Updated", time_text(status.updated_at)),
    ]


def _sweep(sweep: Sweep) -> list[tuple[str, str]]:
    spec, status = sweep.spec, sweep.status
    pairs = [
        ("Template", spec.template.kind),
        ("Axes", sweep_row(sweep)[-1]),
        ("Cells", f"{spec.cells}, each with a cap of {display_usd(spec.template.spec.max_cost_usd)}"),
        ("At once", str(spec.max_parallel)),
    ]
    if status is None:
        return pairs
    mark = " (simulated)" if status.simulated else " (notional price: nobody pays it)" if status.notional_price else ""
    kept = ((status.spent_usd, "spent by cells at rest"), (status.reserved_usd, "reserved"), (status.left_usd, "left"))
    parts = ", ".join(f"{display_usd(amount)} {what}" for amount, what in kept)
    return [
        *pairs,
        ("Phase", ": ".join(part for part in (status.phase.value, status.reason or "", status.message) if part)),
        ("Progress", f"{status.ended}/{status.cells} ended, {status.going} going, {status.stalled} stalled, {status.failed} to retry"),
        ("Money", f"{display_usd(status.cost_usd)} of {display_usd(status.cap_usd)}{mark}; {parts}"),
        ("Created", time_text(status.created_at)),
        ("Started", time_text(status.started_at)),
        ("Ended", time_text(status.ended_at)),
    ]


def _group(group: AgentGroup) -> list[tuple[str, str]]:
    spec, status = group.spec, group.status
    pairs = [("Agent", spec.agent), ("Max active", str(spec.max_active))]
    if spec.evaluation is not None:
        evaluation = spec.evaluation
        pairs += [
            ("Environment", f"{evaluation.environment}, split {evaluation.split}, seed {evaluation.seed}"),
            ("Cases", f"{evaluation.tasks} tasks × {evaluation.repetitions} = {evaluation.cases}"),
            ("Timeout", duration_text(evaluation.timeout)),
        ]
    if status is None:
        return pairs
    money = status.money
    parts = ((money.spent_usd, "spent by ended runs"), (money.reserved_usd, "reserved"), (money.left_usd, "left"))
    kept = ", ".join(f"{display_usd(amount)} {what}" for amount, what in parts)
    mark = " (simulated)" if status.simulated else " (notional price: nobody pays it)" if status.notional_price else ""
    return [
        *pairs,
        ("Revision", str(status.agent_revision)),
        ("Model", f"{status.model_family}: {status.model_name}" + mark),
        ("Price from", status.price_source),
        ("Phase", ": ".join(part for part in (status.phase.value, status.reason.value if status.reason else "", status.message) if part)),
        ("Progress", f"{status.coverage.total - status.pending}/{status.coverage.total} ended, {status.going} going"),
        ("Pass rate", row_of(group)[3]),
        ("Weaker grader", status.weaker_grader),
        ("Verdicts", ", ".join(f"{count} {verdict}" for verdict, count in status.verdicts.items())),
        ("Money", f"{display_usd(money.model_usd)} of {display_usd(money.cap_usd)} on models; {kept}"),
        ("Sandboxes", f"{display_usd(money.sandbox_usd)}, apart from model spend and its cap" if money.sandbox_usd else ""),
        ("Unconfirmed", display_usd(money.unconfirmed_usd) if money.unconfirmed_usd else ""),
        ("Created", time_text(status.created_at)),
        ("Started", time_text(status.started_at)),
        ("Ended", time_text(status.ended_at)),
        ("Deadline", time_text(status.deadline_at)),
        ("Digest", status.environment_digest),
    ]


def transcript_text(transcript: Transcript, *, calls: bool) -> str:
    """The conversation, one message after the other; before it, unless not wanted, the calls."""
    table = table_text(_CALL_TITLES, [_call_row(call) for call in transcript.calls], right=_CALL_FIGURES) if transcript.calls else ""
    said = conversation_text(transcript, moment=time_text)
    return "\n\n".join(part for part in (table if calls else "", said) if part) or "no conversation yet"


def _call_row(call: CallRecord) -> tuple[str, ...]:
    notes = [call.stop_reason, call.error, "usage above the bound" if call.over_bound else ""]
    return (
        str(call.number),
        call.state,
        str(call.turn),
        str(call.attempt),
        display_usd(call.reserved_usd),
        display_usd(call.cost_usd),
        f"{call.input_bound:,}",
        _count(call.input_tokens),
        _count(call.cached_input_tokens),
        _count(call.output_tokens),
        time_text(call.started_at),
        time_text(call.ended_at),
        "; ".join(note for note in notes if note),
    )


def _count(tokens: int | None) -> str:
    return "-" if tokens is None else f"{tokens:,}"
