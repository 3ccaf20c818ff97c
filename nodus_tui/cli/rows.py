"""One line a resource, for `get`. Pure."""

import shlex
from datetime import datetime

from nodus_tui.cli.sandbox_texts import SANDBOX_TITLES, sandbox_row
from nodus_tui.cli.summary import seconds_text
from nodus_tui.cli.sweep_texts import SWEEP_TITLES, sweep_row
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job, JobStatus
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.statistics.format import pass_rate_text
from nodus_tui.statistics.scores import scores_text
from nodus_tui.view_state.budgets import scope_text, standing_word, used_bar, used_text
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.devices import given_words, hardware_words

RIGHT = frozenset(
    {"REVISION", "CASE", "COST", "CAP", "TURNS", "SPENT", "ENDED", "SANDBOX", "SANDBOXES", "EXIT", "TOOK", "LEFT", "LIMIT", "DONE"}
    | {"GOING", "AN HOUR"}
)
"""Columns of figures."""

_TITLES: dict[str, tuple[str, ...]] = {
    "Agent": ("NAME", "REVISION", "CAP", "MODEL", "UPDATED"),
    "AgentGroup": ("NAME", "PHASE", "ENDED", "PASS RATE", "SPENT", "CAP", "SANDBOXES", "AGENT", "ENVIRONMENT"),
    "AgentRun": ("NAME", "CASE", "TASK", "PHASE", "REASON", "VERDICT", "COST", "CAP", "SANDBOX", "TURNS", "GROUP"),
    "Job": ("NAME", "PHASE", "REASON", "EXIT", "COST", "CAP", "TOOK", "STARTED", "DEVICES", "SERVES", "COMMAND"),
    "TrainingJob": ("NAME", "PHASE", "REASON", "DONE", "SCORES", "COST", "CAP", "TOOK", "STARTED", "HARDWARE", "MODEL"),
    "Sweep": SWEEP_TITLES,
    "Sandbox": SANDBOX_TITLES,
    "Budget": ("NAME", "USED", "SPENT", "LIMIT", "LEFT", "STATE", "ACTION", "PERIOD", "ENDS", "SCOPE"),
    "Environment": ("NAME", "VERSION", "SOURCE", "TASKS", "DIGEST"),
}

_COMMAND_CHARACTERS = 60
_BAR_CELLS = 12


def titles_of(kind: str) -> tuple[str, ...]:
    """The columns of a kind."""
    return _TITLES.get(kind, ("KIND", "NAME"))


def row_of(resource: Resource, *, bars: bool = False) -> tuple[str, ...]:
    """The cells of one resource, under the columns of its kind; with `bars` for people, who see a share best as a length."""
    match resource:
        case Agent():
            row = _agent(resource)
        case AgentGroup():
            row = _group(resource)
        case AgentRun():
            row = _run(resource)
        case Environment():
            row = _environment(resource)
        case Job():
            row = _job(resource)
        case TrainingJob():
            row = _training_job(resource)
        case Budget():
            row = _budget(resource, bars=bars)
        case Sweep():
            row = sweep_row(resource)
        case Sandbox():
            row = sandbox_row(resource)
        case _:
            row = resource.kind, resource.name
    return row


def time_text(moment: datetime | None) -> str:
    """UTC to the second; a hyphen where there is none."""
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}Z"


def _agent(agent: Agent) -> tuple[str, ...]:
    status = agent.status
    revision, updated = ("-", None) if status is None else (str(status.revision), status.updated_at)
    return agent.name, revision, display_usd(agent.spec.per_run_max_cost_usd), ",".join(agent.spec.model.families), time_text(updated)


def _group(group: AgentGroup) -> tuple[str, ...]:
    environment = group.spec.evaluation.environment if group.spec.evaluation else "-"
    status = group.status
    if status is None:
        return group.name, "-", "-", "-", "-", "-", "-", group.spec.agent, environment
    total = status.coverage.total
    rate = pass_rate_text(
        pass_rate=status.pass_rate,
        standard_error=status.standard_error,
        ci95=status.ci95,
        scored=status.coverage.scored,
        total=total,
        ended=status.phase.ended,
    )
    mark = " (simulated)" if status.simulated else " (notional price)" if status.notional_price else ""
    money = status.money
    ended = f"{total - status.pending}/{total}"
    return (
        group.name,
        status.phase.value,
        ended,
        (rate if group.spec.evaluation else "-") + mark,
        display_usd(money.model_usd),
        display_usd(money.cap_usd),
        display_usd(money.sandbox_usd) if money.sandbox_usd else "-",
        group.spec.agent,
        environment,
    )


def _run(run: AgentRun) -> tuple[str, ...]:
    spec, status = run.spec, run.status
    cap = "-" if spec.max_cost_usd is None else display_usd(spec.max_cost_usd)
    if status is None:
        return run.name, str(spec.case), spec.task_id, "-", "-", "-", "-", cap, "-", "-", spec.group or "-"
    return (
        run.name,
        str(spec.case),
        spec.task_id,
        status.phase.value,
        status.reason.value if status.reason else "-",
        status.verdict.value if status.verdict else "-",
        display_usd(status.cost_usd),
        cap,
        display_usd(status.sandbox.cost_usd) if status.sandbox else "-",
        str(status.turns),
        spec.group or "-",
    )


def cap_text(job: Job | TrainingJob) -> str:
    """The cap in force."""
    raised = job.status.cap_usd if job.status else None
    return display_usd(job.spec.max_cost_usd if raised is None else raised)


def _took(status: JobStatus) -> float | None:
    return None if status.started_at is None or status.ended_at is None else (status.ended_at - status.started_at).total_seconds()


def progress_text(status: JobStatus) -> str:
    """How far it is, where it says so."""
    return "-" if status.progress is None else f"{status.progress:.0%}"


def _training_job(job: TrainingJob) -> tuple[str, ...]:
    spec, status = job.spec, job.status
    hardware = hardware_text(job)
    if status is None:
        return job.name, "-", "-", "-", "-", "-", cap_text(job), "-", "-", hardware, spec.model.uri
    return (
        job.name,
        status.phase,
        status.reason or "-",
        progress_text(status),
        scores_text(status.scores) or "-",
        display_usd(status.cost_usd),
        cap_text(job),
        seconds_text(_took(status)),
        time_text(status.started_at),
        given_words(status.hardware, status.device_names) or hardware,
        spec.model.uri,
    )


def hardware_text(job: TrainingJob) -> str:
    """What it runs on, or may run on."""
    resources = job.spec.resources
    count = f"{resources.accelerators} × " if resources.accelerators > 1 else ""
    return count + " or ".join(resources.hardware)


def _job(job: Job) -> tuple[str, ...]:
    status, cap = job.status, cap_text(job)
    command = command_text(job.spec.command, _COMMAND_CHARACTERS) or job.spec.image or ""
    if status is None:
        return job.name, "-", "-", "-", "-", cap, "-", "-", hardware_words(job.spec), serves_text(job), command
    return (
        job.name,
        status.phase,
        status.reason or "-",
        "-" if status.exit_code is None else str(status.exit_code),
        display_usd(status.cost_usd),
        cap,
        seconds_text(_took(status)),
        time_text(status.started_at),
        given_words(status.hardware, status.device_names) or hardware_words(job.spec),
        serves_text(job),
        command,
    )


def serves_text(job: Job) -> str:
    """The family that a job serves, where, and for whom; a hyphen for one that serves nothing."""
    serve, serving = job.spec.serve, job.status.serving if job.status else None
    if serve is None:
        return "-"
    if serving is None or serving.address is None:
        return serve.family
    return f"{serve.family} at {serving.address} for {', '.join(serving.users) or 'nobody now'}"


def _budget(budget: Budget, *, bars: bool) -> tuple[str, ...]:
    spec, status = budget.spec, budget.status
    used, limit, scope = used_text(budget), display_usd(spec.limit_usd), scope_text(budget)
    if status is None:
        return budget.name, "-", "-", limit, "-", "-", spec.action, spec.period, "-", scope
    return (
        budget.name,
        f"{plain(used_bar(budget, _BAR_CELLS))} {used:>4}" if bars else used,
        display_usd(status.spent_usd),
        limit,
        display_usd(status.left_usd),
        standing_word(status),
        spec.action,
        spec.period,
        time_text(status.period_ends_at),
        scope,
    )


def command_text(command: tuple[str, ...], limit: int) -> str:
    """A command as a shell would take it, on one line, cut to so many characters."""
    text = " ".join(shlex.quote(word) for word in command).replace("\n", "␤")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _environment(environment: Environment) -> tuple[str, ...]:
    status = environment.status
    if status is None:
        return environment.name, environment.spec.version, "-", "-", "-"
    tasks = ", ".join(f"{split} {count}" for split, count in status.tasks.items()) or "endless"
    return environment.name, environment.spec.version, status.source, tasks, status.digest
