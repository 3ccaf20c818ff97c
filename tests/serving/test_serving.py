"""Jobs that serve a model, over real processes: one start for all who use it, its address, its end, and what it costs."""

import asyncio
import socket
from decimal import Decimal
from pathlib import Path

import pytest
from engine_place import at_rest, group, in_phase
from free_ports import free_port
from job_place import job_now, until, workspace
from serving_place import agent, campaign, group_now, lines, model_fact, served, server, serving, specs, until_serving

from nodus_tui.contract.actions import Delete, Kill, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.sdk import operations

pytestmark = pytest.mark.timeout(60)


async def test_one_file_with_server_agent_and_group_is_served_and_the_server_is_stopped_after(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        outcome = await backend.apply(campaign(tmp_path, model="Qwen/Qwen3-8B"))
        kinds = [(each.kind, each.outcome) for each in outcome.documents]
        assert kinds == [("Environment", "created"), ("Job", "created"), ("Agent", "created"), ("AgentGroup", "created")]
        status = await at_rest(backend)
        assert (status.phase, status.verdicts) == ("Completed", {"Correct": 3})
        assert (status.model_name, status.price_source) == ("Qwen/Qwen3-8B", "free: served by Job server, whose time is its cost")
        assert status.money.model_usd == 0
        ended = await until(backend, name="server")
        assert (ended.phase, ended.reason) == ("Succeeded", "NoLongerUsed")
        assert ended.cost_usd > 0
        assert len(lines(tmp_path, "starts")) == 1
        assert {line.split()[0] for line in lines(tmp_path, "calls")} == {"Qwen/Qwen3-8B"}


async def test_groups_at_once_and_after_each_other_share_one_start(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        (tmp_path / "server").mkdir()
        (tmp_path / "server" / "hold").touch()
        documents = [server(tmp_path / "server", stopAfter="1h"), agent(), group(name="first", tasks=1), group(name="second", tasks=1)]
        await backend.apply(specs(tmp_path, *documents))
        status = await until_serving(backend)
        assert status.serving is not None
        assert status.serving.users == ("first", "second")
        assert (status.phase, status.serving.answering, status.serving.stops_at) == ("Serving", True, None)
        assert status.serving.address is not None
        assert status.message == f"serves qwen at {status.serving.address}, used by first, second"
        (tmp_path / "server" / "hold").unlink()
        await at_rest(backend, "first")
        await at_rest(backend, "second")

        status = await served(backend, lambda found: not found.users)
        assert status.serving is not None
        assert status.serving.stops_at is not None
        await backend.apply(specs(tmp_path, group(name="third", tasks=1)))
        assert (await at_rest(backend, "third")).verdicts == {"Correct": 1}
        assert len(lines(tmp_path, "starts")) == 1
        await backend.act(Kill(kind="Job", name="server"))


async def test_it_lasts_from_cell_to_cell_of_a_sweep_and_ends_after_the_last(tmp_path: Path) -> None:
    """It would be stopped as soon as nobody uses it; the cells come one after another, and between two of them nobody does."""
    async with workspace(tmp_path) as backend:
        template = {"kind": "AgentGroup", "spec": group(tasks=2)["spec"]}
        spec = {"maxCostUSD": "50", "maxParallel": 1, "template": template, "matrix": {"shards": 3}}
        sweep = {"apiVersion": "nodus.dev/v1", "kind": "Sweep", "metadata": {"name": "grid"}, "spec": spec}
        await backend.apply(specs(tmp_path, server(tmp_path / "server"), agent(), sweep))
        ended = await until(backend, name="server")
        assert (ended.phase, ended.reason, ended.attempt) == ("Succeeded", "NoLongerUsed", 1)
        assert [(await at_rest(backend, f"grid-{cell}")).verdicts for cell in (1, 2, 3)] == [{"Correct": 2}] * 3


async def test_alone_it_waits_for_a_group_and_costs_nothing(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(specs(tmp_path, server(tmp_path / "server")))
        status = await until(backend, "Pending", reason="WaitingForUsers", name="server")
        assert status.message == "waits for a group that uses the family qwen"
        assert status.started_at is None
        assert lines(tmp_path, "starts") == []


async def test_kept_up_it_starts_at_once_and_stays(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(specs(tmp_path, server(tmp_path / "server", keep=True), agent(), group(tasks=1)))
        await at_rest(backend)
        status = await served(backend, lambda found: not found.users)
        assert status.serving is not None
        assert (status.phase, status.serving.stops_at) == ("Serving", None)
    async with workspace(tmp_path) as backend:
        assert (await serving(backend))[0].phase == "Serving"
        await backend.act(Kill(kind="Job", name="server"))


async def test_a_scheduler_that_goes_leaves_no_server_up_that_nobody_uses(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, stopAfter="1h"))
        await at_rest(backend)
    async with workspace(tmp_path) as backend:
        status = await until(backend, name="server")
        assert (status.phase, status.reason) == ("Succeeded", "NoLongerUsed")


async def test_a_group_that_comes_later_has_the_server_started_again_under_the_same_cap(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path))
        await at_rest(backend)
        first = await until(backend, name="server")
        await backend.apply(specs(tmp_path, group(name="later", tasks=2)))
        assert (await at_rest(backend, "later")).verdicts == {"Correct": 2}
        status = await until(backend, name="server")
        assert (status.phase, status.reason, status.attempt) == ("Succeeded", "NoLongerUsed", 2)
        assert status.cost_usd > first.cost_usd
        assert len(lines(tmp_path, "starts")) == 2


async def test_a_health_check_that_never_comes_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "unwell").touch()
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, startTimeout="10s"))
        status = await until(backend, name="server")
        assert (status.phase, status.reason) == ("Failed", "StartTimeout")
        assert status.message == "its health check GET /health did not answer 200 within 10s (it answered 503)"
        stalled = await in_phase(backend, "Stalled")
        assert (stalled.reason, stalled.verdicts, stalled.pending) == ("WaitingForModel", {}, 3)
        assert (await operations.wait(backend, "campaign", None, through_stalls=False)).phase == "Stalled"
        assert "the model server of qwen has ended: job server (Failed, its health check" in stalled.message
        assert "`nodus-tui retry job/server` starts it again" in stalled.message
        assert lines(tmp_path, "calls") == []


async def test_while_it_starts_its_groups_say_so(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "unwell").touch()
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path))
        status = await group_now(backend)
        async with asyncio.timeout(30):
            while "it answered 503" not in (status := await group_now(backend)).message:
                await asyncio.sleep(0.02)
        assert (status.phase, status.reason, status.going) == ("Running", "WaitingForModel", 0)
        assert status.message.startswith("waits for the model server of qwen (job server): started ")
        assert status.message.endswith("its health check GET /health has not answered 200 yet (it answered 503)")
        (tmp_path / "server" / "unwell").unlink()
        assert (await at_rest(backend)).verdicts == {"Correct": 3}


async def test_a_port_that_is_taken_is_told_with_who_has_it(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with workspace(tmp_path) as backend:
            await backend.apply(campaign(tmp_path, port=port))
            status = await until(backend, name="server")
            assert (status.phase, status.reason) == ("Failed", "NotStarted")
            assert f"port {port} of this machine is taken by " in status.message
            assert "give serve.port and the command another" in status.message
            assert status.cost_usd == 0


async def test_of_two_servers_at_one_port_the_second_waits(tmp_path: Path) -> None:
    port = free_port()
    async with workspace(tmp_path) as backend:
        await backend.apply(specs(tmp_path, server(tmp_path / "server", port=port, keep=True)))
        await until(backend, "Running", "Serving", name="server")
        await backend.apply(specs(tmp_path, server(tmp_path / "other", name="other", family="other", port=port, keep=True)))
        status = await until(backend, "Pending", reason="WaitingForPort", name="other")
        assert status.message == f"waits for port {port} of this machine, which job server has"
        await backend.act(Kill(kind="Job", name="server"))
        await until(backend, "Serving", name="other")
        await backend.act(Kill(kind="Job", name="other"))


async def test_its_cap_ends_it_and_says_what_frees_those_who_wait(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "hold").touch()
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, tasks=1, spec={"maxCostUSD": "0.03"}))
        status = await until(backend, name="server")
        assert (status.phase, status.reason) == ("Failed", "MaxCostReached")
        assert status.cost_usd <= Decimal("0.03")
        stalled = await in_phase(backend, "Stalled")
        assert (stalled.reason, stalled.pending, stalled.going) == ("WaitingForModel", 1, 0)
        assert "`nodus-tui extend-cap job/server AMOUNT`" in stalled.message


async def test_a_kill_of_a_server_in_use_names_who_waits_then(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "hold").touch()
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path))
        await until_serving(backend)
        outcome = await backend.act(Kill(kind="Job", name="server"))
        assert "campaign waits for it now: `nodus-tui retry job/server` starts it again" in outcome.message
        stalled = await in_phase(backend, "Stalled")
        assert (stalled.reason, stalled.verdicts) == ("WaitingForModel", {})
        await backend.act(Delete(kind="Job", name="server"))
        async with asyncio.timeout(30):
            while "no job serves qwen any more" not in (await group_now(backend)).message:
                await asyncio.sleep(0.02)
        (tmp_path / "server" / "hold").unlink()
        await backend.apply(specs(tmp_path, server(tmp_path / "server", name="another")))
        assert (await at_rest(backend)).verdicts == {"Correct": 3}


async def test_the_key_that_it_asks_for_goes_with_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWEN_KEY", "sk-served")
    async with workspace(tmp_path) as backend:
        await backend.apply(campaign(tmp_path, tasks=1, apiKeyEnv="QWEN_KEY"))
        await at_rest(backend)
    assert [line.split()[:3] for line in lines(tmp_path, "calls")] == [["qwen", "Bearer", "sk-served"]]


async def test_what_it_costs_at_most_stands_beside_the_groups_estimate_and_in_the_list_of_models(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        bundle = campaign(tmp_path, spec={"maxCostUSD": "12.50"})
        job, estimate = await backend.estimate(bundle, minutes_per_case=Decimal(1))
        assert isinstance(job, KindEstimate)
        assert job.ceiling_usd == Decimal("12.50")
        assert isinstance(estimate, Estimate)
        assert "Its model is served by Job server, whose time is its cost: $12.50 at most" in estimate.notes[0]
        dry = await backend.apply(bundle, dry_run=True)
        assert dry.documents[-1].message.startswith("3 cases on qwen (qwen)")
        assert await model_fact(backend) is None

        await backend.apply(specs(tmp_path, server(tmp_path / "server", keep=True)))
        await until_serving(backend)
        fact = await model_fact(backend)
        assert fact is not None
        assert fact.usable
        assert fact.price_source == "free: served by Job server, whose time is its cost: $36.00 an hour while it is up (Serving)"
        assert fact.base_url.startswith("http://127.0.0.1:")
        await backend.act(Kill(kind="Job", name="server"))
        assert await model_fact(backend) is None


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"spec": {"network": False}}, "spec.network", "set network: true"),
        ({"family": "haiku"}, "spec.serve.family", "the model catalogue has a family haiku already"),
        ({"name": "second"}, "spec.serve.family", "Job server serves the family qwen already"),
    ],
)
async def test_what_cannot_serve_is_a_fault_with_its_place(tmp_path: Path, change: dict[str, object], place: str, words: str) -> None:
    async with workspace(tmp_path) as backend:
        if "name" in change:
            await backend.apply(specs(tmp_path, server(tmp_path / "server")))
        with pytest.raises(NodusError) as refused:
            await backend.apply(specs(tmp_path, server(tmp_path / "server", **change)))  # type: ignore[arg-type]  # of many types
        (fault,) = refused.value.faults
        assert (fault.path, words in fault.message) == (place, True), fault


async def test_a_group_that_names_a_family_whose_server_has_failed_is_told_how_to_have_it_again(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(specs(tmp_path, server(tmp_path / "server", keep=True, spec={"command": ["/bin/false"]}), agent()))
        await until(backend, name="server")
        with pytest.raises(NodusError) as refused:
            await backend.apply(specs(tmp_path, group()))
        assert refused.value.code is ErrorCode.INVALID_SPEC
        (fault,) = refused.value.faults
        assert fault.path == "spec.agent"
        assert "job server (Failed, it exited with 1); `nodus-tui retry job/server` starts it again" in fault.message
        # Another Job may serve the family, and the group with it.
        await backend.apply(specs(tmp_path, server(tmp_path / "server", name="second"), group()))
        assert (await at_rest(backend)).verdicts == {"Correct": 3}
        assert (await job_now(backend, "server"))[1].phase == "Failed"


async def test_two_jobs_never_serve_one_family_whichever_way_the_second_would_come(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(specs(tmp_path, server(tmp_path / "server")))
        await backend.act(Kill(kind="Job", name="server"))
        await backend.apply(specs(tmp_path, server(tmp_path / "server", name="second")))
        with pytest.raises(NodusError, match="second serves the family qwen by now: kill that one first"):
            await backend.act(RetryJob(kind="Job", name="server"))
        assert (await job_now(backend, "server"))[1].phase == "Cancelled"
