"""What a browser has of a backend: everything to look at, and no more than its role lets it do, whatever its keys would."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from scripted_backend import ScriptedBackend
from ways import workspace

from nodus_tui.contract.actions import Kill
from nodus_tui.contract.backend import Backend, Linked
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess
from nodus_tui.contract.sandbox_exec import ExecRequest, TerminalShape
from nodus_tui.contract.scheduler_view import SchedulerFacts
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.wrapped.looking import LookingBackend, looking

KILL = Kill(kind="AgentGroup", name="fleet", author="whoever the page says")

SEEN = {
    *("get", "list", "results", "sweep_results", "transcript", "snapshot", "watch", "info", "gpus", "sandboxes", "files", "job_log"),
    *("job_files", "sandbox_files", "environment_tasks"),
}
"""Calls that only look."""


def refused_calls(backend: Backend) -> dict[str, Any]:
    return {
        "apply": backend.apply(SpecBundle(()), dry_run=True),
        "estimate": backend.estimate(SpecBundle(()), minutes_per_case=Decimal(1)),
        "reap_sandboxes": backend.reap_sandboxes(),
        "read_file": backend.read_file("run", "path"),
        "read_job_file": backend.read_job_file("job", "path"),
        "read_sandbox_file": backend.read_sandbox_file("box", "path"),
        "check_environment": backend.check_environment("nodus/arithmetic-v2"),
        "stop_work": backend.stop_work(grace_seconds=0),
        "exec_start": backend.exec_start("box", ExecRequest(command=("true",))),
        "exec_output": backend.exec_output("box", "session"),
        "exec_input": backend.exec_input("box", "session", b"", offset=0),
        "exec_resize": backend.exec_resize("box", "session", TerminalShape(columns=80, rows=24)),
        "exec_signal": backend.exec_signal("box", "session", "INT"),
        "info with a probe": backend.info(probe=True),
    }


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_what_reaches_into_the_machine_is_refused_to_everybody(role: Any) -> None:
    inner = ScriptedBackend()
    calls = refused_calls(looking(inner, role, "ann"))
    public = {name for name in vars(Backend) if not name.startswith("_")}
    of_operators = {"act", "scheduler_view"}
    assert public - SEEN - of_operators - {"aclose"} == set(calls) - {"info with a probe"}, "a call of the protocol is on neither list"
    for name, call in calls.items():
        with pytest.raises(NodusError) as caught:
            await (anext(call) if isinstance(call, AsyncIterator) else call)
        assert caught.value.code is ErrorCode.FORBIDDEN, name
        assert "from a browser" in caught.value.detail or "for a browser" in caught.value.detail, name
    assert (inner.applied, inner.acted, inner.stopped_with) == ([], [], [])


async def test_the_scheduler_s_log_is_an_operator_s() -> None:
    inner = ScriptedBackend()
    inner.scheduler, inner.scheduler_log = SchedulerFacts(pid=7), "one line\n"
    assert (await looking(inner, "operator", "ann").scheduler_view()).log.text == "one line\n"
    with pytest.raises(NodusError) as caught:
        await looking(inner, "viewer", "ann").scheduler_view()
    assert caught.value.code is ErrorCode.FORBIDDEN


async def test_a_viewer_does_nothing_and_an_operator_acts_in_their_own_name() -> None:
    inner = ScriptedBackend()
    with pytest.raises(NodusError, match="you look on as a viewer"):
        await looking(inner, "viewer", "ann").act(KILL)
    assert inner.acted == []
    await looking(inner, "operator", "olga").act(KILL)
    assert [action.author for action in inner.acted] == ["olga"]


@pytest.mark.parametrize(
    ("own", "inner", "told"), [("viewer", "operator", "viewer"), ("operator", "operator", "operator"), ("operator", "viewer", "viewer")]
)
async def test_the_lesser_role_counts(own: Any, inner: Any, told: str) -> None:
    assert (await looking(ScriptedBackend(role=inner), own, "ann").info()).role == told


async def test_a_viewer_sees_of_each_command_its_program_only() -> None:
    inner = ScriptedBackend()
    process = GpuProcess(pid=1, kind="compute", user="ann", command="/bin/train --key secret", memory_bytes=1)
    inner.hardware = inner.hardware.model_copy(update={"devices": (GpuDevice(index=0, uuid="GPU-1", name="L4", processes=(process,)),)})
    assert (await looking(inner, "viewer", "ann").gpus()).devices[0].processes[0].command == "/bin/train"
    assert (await looking(inner, "operator", "ann").gpus()).devices[0].processes[0].command == "/bin/train --key secret"


async def test_everything_that_only_looks_is_answered_as_by_the_backend_itself(tmp_path: Path) -> None:
    async with workspace(tmp_path) as local:
        backend = looking(local, "viewer", "ann")
        assert not isinstance(backend, Linked)
        assert await backend.snapshot(runs_of="") == await local.snapshot(runs_of="")
        assert await backend.list("Agent") == await local.list("Agent")
        with pytest.raises(NodusError, match='there is no AgentGroup "none"'):
            await backend.results("none")


def test_no_call_is_passed_on_unseen() -> None:
    """Each call of the protocol is either on the list of those that look, or the class itself answers for it."""
    for name in vars(Backend):
        if not name.startswith("_") and name not in SEEN | {"aclose"}:
            owner = next(kind for kind in LookingBackend.__mro__ if name in vars(kind))
            assert owner.__name__ != "PassingBackend", name
