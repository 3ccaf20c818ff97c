"""Sandboxes of that kind on the command line: a line for `get`, and all of one for `describe`. Pure."""

from datetime import datetime

from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.sandbox import Sandbox, SandboxStatus
from nodus_tui.view_state.words import phase_words

SANDBOX_TITLES = ("NAME", "PHASE", "REASON", "ENGINE", "COST", "CAP", "AN HOUR", "STARTED", "IDLE STOP", "AT THE LATEST", "IMAGE")


def _time(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}Z"


def _idle_stop(sandbox: Sandbox, status: SandboxStatus) -> str:
    """When it is stopped if no other command runs in it."""
    if status.phase != "Running":
        return "-"
    return "busy" if status.idle_since is None else _time(status.idle_since + sandbox.spec.idle_timeout)


def sandbox_row(sandbox: Sandbox) -> tuple[str, ...]:
    """The cells of one."""
    status, cap, image = sandbox.status, display_usd(sandbox.spec.max_cost_usd), sandbox.spec.image or "base"
    if status is None:
        return sandbox.name, "-", "-", "-", "-", cap, "-", "-", "-", "-", image
    return (
        sandbox.name,
        status.phase,
        status.reason or "-",
        status.engine or "-",
        display_usd(status.cost_usd),
        cap,
        display_usd(status.rate_usd),
        _time(status.started_at),
        _idle_stop(sandbox, status),
        _time(status.stops_at),
        image,
    )


def sandbox_pairs(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Everything a person wants to know of one."""
    spec, status = sandbox.spec, sandbox.status
    machine = [
        spec.hardware,
        f"{spec.cpus:g} CPU",
        f"{spec.memory_gib:g} GiB of memory",
        f"{spec.disk_gib:g} GiB of disk",
        f"{spec.processes} processes",
        "network" if spec.network else "no network",
    ]
    limits = [
        f"idle {duration_text(spec.idle_timeout)}",
        f"lifetime {duration_text(spec.max_lifetime)}",
        f"cost {display_usd(spec.max_cost_usd)}",
    ]
    pairs = [
        ("Image", spec.image or "the base image"),
        ("Machine", ", ".join(machine)),
        ("Environment", ", ".join([*spec.env, *(f"{name} (the scheduler's)" for name in spec.env_from)])),
        ("Stopped by", ", ".join(limits)),
    ]
    if status is None:
        return pairs
    weaker = "weaker isolation (`nodus-tui doctor` says why)" if status.isolation == "weaker" else ""
    return [
        *pairs,
        ("Phase", phase_words(status.phase, status.reason, status.message)),
        ("Engine", ", ".join(part for part in (status.engine, weaker, status.image) if part)),
        ("Cost", f"{display_usd(status.cost_usd)} of {display_usd(spec.max_cost_usd)}, at {display_usd(status.rate_usd)} an hour"),
        ("Created", _time(status.created_at)),
        ("Started", _time(status.started_at)),
        ("Ended", _time(status.ended_at)),
        *_standing(sandbox, status),
        ("Notes", "\n".join(status.notes)),
    ]


def _standing(sandbox: Sandbox, status: SandboxStatus) -> list[tuple[str, str]]:
    if status.phase == "Running":
        commands = f"{status.commands} command{'s' if status.commands != 1 else ''} run{'s' if status.commands == 1 else ''} in it"
        return [
            ("Idle", f"since {_time(status.idle_since)}" if status.idle_since is not None else f"no: {commands}"),
            ("Idle stop", f"{_idle_stop(sandbox, status)} if no command runs until then" if status.idle_since is not None else ""),
            ("At the latest", _time(status.stops_at)),
            ("Enter", f"nodus-tui exec {sandbox.name}"),
        ]
    if not status.ended:
        return []
    kept = f"kept; `nodus-tui cp sandbox/{sandbox.name}:` lists them" if status.files_kept else "not kept"
    return [("Files", kept)]
