"""Everything that is known of one run as names and values: for the run view's facts, and for `describe`. Pure."""

from collections.abc import Callable, Sequence
from datetime import datetime

from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent import AgentSandbox
from nodus_tui.contract.resources.agent_run import AgentRun, AgentRunStatus, Transcript
from nodus_tui.contract.resources.hardware import MachineSlice
from nodus_tui.view_state.devices import hardware_words, until_words
from nodus_tui.view_state.figures import exact_span_text, reward_text
from nodus_tui.view_state.run_times import time_parts, time_words
from nodus_tui.view_state.words import phase_words

Pairs = list[tuple[str, str]]
Moment = Callable[[datetime | None], str]
"""How a moment is written."""


def run_pairs(
    run: AgentRun, *, limits: AgentSandbox | None, transcript: Transcript | None, now: datetime | None, moment: Moment, successor: str = ""
) -> Pairs:
    """All of it; empty values are for nobody to see."""
    return [*_run(run, transcript, now, moment, successor), *_sandbox(run, limits, moment)]


def _run(run: AgentRun, transcript: Transcript | None, now: datetime | None, moment: Moment, successor: str) -> Pairs:
    spec, status = run.spec, run.status
    pairs = [
        ("Group", spec.group or ""),
        ("Task", f"{spec.task_id}, repetition {spec.repetition}, attempt {spec.attempt}"),
        ("Agent", spec.agent + (f", revision {spec.agent_revision}" if spec.agent_revision else "")),
        ("Predecessor", spec.predecessor or ""),
        ("Successor", successor),
    ]
    if status is None:
        return pairs
    cap = "" if spec.max_cost_usd is None else f" of {display_usd(spec.max_cost_usd)}"
    cost = display_usd(status.cost_usd) + cap
    cost += f"; {display_usd(status.carried_usd)} of it carried from the predecessor" if status.carried_usd else ""
    cost += f"; {display_usd(status.in_flight_usd)} in flight at worst" if status.in_flight_usd else ""
    cost += f"; {display_usd(status.unconfirmed_usd)} unconfirmed" if status.unconfirmed_usd else ""
    phase = phase_words(status.phase, status.reason, status.message)
    until = "" if status.until is None else f", {until_words(moment(status.until), status.until_kind)}"
    return [
        *pairs,
        ("Phase", phase + until),
        ("Taken over", "" if status.current else "yes: another attempt stands for this case"),
        (
            "Verdict",
            (status.verdict.value if status.verdict else "none")
            + ("" if status.reward is None else f", reward {reward_text(status.reward)}"),
        ),
        ("Cost", cost + (" (simulated)" if status.simulated else "")),
        ("Tokens", f"{status.input_tokens:,} in, {status.output_tokens:,} out"),
        ("Calls", f"{status.calls} sent, {status.turns} of at most {status.max_turns} turns"),
        ("Created", moment(status.created_at)),
        ("Started", _started(status, moment)),
        (
            "Ended",
            moment(status.ended_at) + ("" if status.duration_seconds is None else f" after {exact_span_text(status.duration_seconds)}"),
        ),
        ("Time", time_words(time_parts(run, transcript, now)) if now is not None else ""),
        ("Price", transcript.price_source if transcript is not None else ""),
    ]


def _started(status: AgentRunStatus, moment: Moment) -> str:
    """When it got its slot; how long one waits that has none is told with where its time goes."""
    if status.started_at is None:
        return "not yet" if not status.phase.ended else "never"
    return f"{moment(status.started_at)} after {exact_span_text(status.queued_seconds)} in the queue"


def _sandbox(run: AgentRun, limits: AgentSandbox | None, moment: Moment) -> Pairs:
    """What its sandboxes were, took and cost: sandbox money is none of the run's model spend."""
    box = run.status.sandbox if run.status else None
    if box is None:
        return []
    running = f"; runs since {moment(box.started_at)}" if box.running else "; stopped"
    weaker = "weaker isolation (`nodus-tui doctor` says why)" if box.isolation == "weaker" else ""
    kept = f"kept; `nodus-tui cp {run.name}:` lists them"
    return [
        (
            "Sandbox",
            ", ".join(part for part in (box.engine, weaker, box.image, box.hardware) if part)
            if box.engine
            else ("for grading only" if box.grader_image else "none was made"),
        ),
        ("Devices", devices_text(box.device_names, box.devices)),
        ("Graded in", box.grader_image),
        ("Limits", limits_text(limits) if limits else ""),
        ("Sandbox time", f"{exact_span_text(box.seconds)} from started to stopped, grading included{running}"),
        ("Sandbox cost", f"{display_usd(box.cost_usd)} at {display_usd(box.rate_usd)} an hour, apart from model spend and its cap"),
        ("Files", kept if box.files_kept or box.running else "not kept"),
    ]


def limits_text(box: AgentSandbox) -> str:
    """What a sandbox may use."""
    parts = [
        beside_cpu(box).removesuffix(", "),
        f"{box.cpus:g} CPU{'s' if box.cpus != 1 else ''}",
        f"{box.memory_gib:g} GiB of memory",
        f"{box.disk_gib:g} GiB of disk",
        f"{box.processes} processes",
        "network" if box.network else "no network",
        f"{duration_text(box.command_timeout)} a command",
        f"stops after {duration_text(box.idle_timeout)} idle",
        f"{duration_text(box.max_lifetime)} at most",
        f"{display_usd(box.max_cost_usd)} at most" if box.max_cost_usd is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def devices_text(names: Sequence[str], uuids: Sequence[str]) -> str:
    """Devices that were given, one a line."""
    return "\n".join(f"{name}  {uuid}" for name, uuid in zip(names, uuids, strict=False))


def beside_cpu(spec: MachineSlice | AgentSandbox) -> str:
    """What is asked for beside the CPU, before the rest."""
    hardware = hardware_words(spec)
    return "" if hardware == "CPU" else f"{hardware}, "
