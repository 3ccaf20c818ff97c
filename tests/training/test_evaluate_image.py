"""TrainingJobs whose harness runs in an image, at a real Docker engine. The image has the STAND-IN for the harness."""

import asyncio
import contextlib
import json
import os
import signal
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pytest
from docker_engines import PASSWORD, private_registry, user_engine
from training_place import TrainingPlace, log_of, output, stand_in_python, until

from local_backend.jobs.order import read_report
from local_backend.sandboxes.docker.credentials import encoded
from local_backend.sandboxes.docker.engine import DockerEngine
from local_backend.training.contained import command_in, container_environ
from local_backend.training.container import ContainerRequest
from local_backend.training.order import EvaluationOrder, OrderedImage, OrderedModel
from nodus_tui.contract.actions import ExtendCap, Kill, RetryJob
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import NodusError

pytestmark = pytest.mark.timeout(110)
IMAGE = "nodus-test/evaluate:1"


@pytest.fixture
async def engine() -> AsyncIterator[DockerEngine]:
    async with user_engine() as found:
        yield found


async def built(engine: DockerEngine, folder: Path, lines: str, tag: str) -> str:
    """An image on top of the base image, which is made of this machine's own files: no registry is asked."""
    digest = (await engine.prepare(None)).partition("@sha256:")[2]
    (folder / "Dockerfile").write_text(f"FROM nodus/base:{digest}\n{lines}")
    await engine.build(str(folder), "Dockerfile", tag)
    return tag


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("image")
    stand_in_python(folder)

    async def build() -> str:
        async with user_engine() as engine:
            return await built(engine, folder, "COPY stand-in /opt/stand-in\nENV PYTHONPATH=/opt/stand-in\n", IMAGE)

    return asyncio.run(build())


@pytest.fixture
def place(tmp_path: Path, image: str, monkeypatch: pytest.MonkeyPatch) -> TrainingPlace:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    place = TrainingPlace(tmp_path, "python3")
    place.evaluate = {"image": image}
    return place


def hold(place: TrainingPlace, after: int, **how: Any) -> Path:
    """Have the harness wait midway; gives the file that lets it go on, which is where the container sees it."""
    go = place.tasks / "go"
    place.behave(hold_after=after, hold=str(go), **how)
    return go


async def containers(engine: DockerEngine, place: TrainingPlace) -> list[str]:
    """Those of this workspace: other tests use the engine, too."""
    return [found.id for found in await engine.list() if found.owner.workspace == str(place.folder / "home")]


async def gone(engine: DockerEngine, place: TrainingPlace) -> None:
    """Wait until the engine has none of the job's any more."""
    while await containers(engine, place):
        await asyncio.sleep(0.05)


async def midway(backend: Backend) -> None:
    await until(backend, lambda status: (status.progress or 0) >= 0.4)


async def test_the_harness_is_asked_in_its_image_without_network_or_keys_and_what_it_writes_is_the_users(
    place: TrainingPlace, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    place.sums()
    (place.folder / "more").mkdir()
    (place.folder / "more" / "seen.txt").touch()
    place.evaluate["mounts"] = [{"source": str(place.folder / "more"), "target": "/srv/more"}]
    before = {path: path.stat().st_mtime_ns for path in [*place.model.rglob("*"), *place.tasks.rglob("*")]}
    async with place.backend() as backend:
        fact = (await backend.info(probe=True)).evaluation
        assert fact is not None
        assert (fact.image, fact.python, fact.harness, fact.torch, fact.problem) == (IMAGE, "python3", "0.4.13", "2.13.0", "")
        await backend.apply(place.benchmark("sums", parameters={"limit": 4}))
        status = await until(backend)
        assert (status.phase, status.progress) == ("Succeeded", 1.0), await log_of(backend)
        assert [(each.task, each.value, each.samples) for each in status.scores] == [("sums", 0.5, 4)]
        seen = (await output(backend, "harness/results_now.json"))["seen"]
        assert seen["interfaces"] == ["lo"]
        assert not [name for name in seen["environ"] if "TOKEN" in name or "KEY" in name or name.startswith("DOCKER")]
        assert seen["environ"]["HF_HUB_OFFLINE"] == "1"
        assert seen["environ"]["PYTHONPATH"] == "/opt/stand-in", "the image's own environment stands"
        provenance = await output(backend, "provenance.json")
        assert (provenance["image"], provenance["offline"]) == (IMAGE, "container without a network")
        assert "STAND-IN, rank 0" in await log_of(backend)
    assert await containers(engine, place) == []
    assert before == {path: path.stat().st_mtime_ns for path in [*place.model.rglob("*"), *place.tasks.rglob("*")]}
    assert {path.stat().st_uid for path in (place.folder / "home" / "jobs" / "score").rglob("*")} == {os.getuid()}


async def test_killed_midway_its_container_ends_gracefully_and_a_retry_goes_on_from_the_cache(
    place: TrainingPlace, engine: DockerEngine
) -> None:
    """By another scheduler than the one that started it: it goes on while there is none, and the next one finds it."""
    place.sums(20)
    go = hold(place, 8)
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        await midway(backend)
    assert len(await containers(engine, place)) == 1
    async with place.backend() as backend:
        assert (await until(backend, lambda status: status.phase == "Running")).attempt == 1
        await backend.act(Kill(kind="TrainingJob", name="score"))
        first = await until(backend)
        assert (first.phase, first.reason, first.progress) == ("Cancelled", "Killed", 0.4)
        # Not by whoever sweeps up later: it was ended before the job was.
        assert await containers(engine, place) == []
        go.touch()
        await backend.act(RetryJob(kind="TrainingJob", name="score"))
        second = await until(backend)
        assert (second.phase, second.attempt, second.scores[0].samples) == ("Succeeded", 2, 20)
        assert (await output(backend, "provenance.json"))["answersFromEarlierAttempts"] == 8
        assert second.cost_usd > first.cost_usd


async def test_its_cap_ends_a_harness_that_does_not_listen_and_a_higher_one_goes_on(place: TrainingPlace, engine: DockerEngine) -> None:
    place.sums(20)
    go = hold(place, 5, ignores_term=True)
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums", maxCostUSD="0.12"))
        first = await until(backend)
        assert first.reason == "MaxCostReached", (first, await log_of(backend))
        assert float(first.cost_usd) <= 0.12
        await gone(engine, place)
        go.touch()
        await backend.act(ExtendCap(kind="TrainingJob", name="score", cap_usd=Decimal("0.90")))
        second = await until(backend)
        assert (second.phase, second.attempt) == ("Succeeded", 2), await log_of(backend)
        assert first.cost_usd < second.cost_usd


@pytest.mark.parametrize("victims", ["runner", "client", "all"])
async def test_whoever_is_killed_nothing_goes_on_in_the_container(place: TrainingPlace, engine: DockerEngine, victims: str) -> None:
    place.sums(20)
    hold(place, 8, ignores_term=True)
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        await midway(backend)
        folder = place.folder / "home" / "jobs" / "score"
        report = read_report(folder, (folder / "token").read_text())
        assert report is not None
        supervisor = psutil.Process(report.pid)
        (runner,) = supervisor.children()
        (client,) = runner.children()
        killed = {"runner": [runner], "client": [client], "all": [supervisor, runner, client]}[victims]
        for each in killed:
            each.send_signal(signal.SIGSTOP)
        for each in killed:
            each.kill()
        status = await until(backend)
        assert (status.phase, status.reason) == ("Failed", "InfrastructureFailure" if victims == "all" else "NonZeroExit")
        assert status.cost_usd > 0
        await gone(engine, place)


async def test_an_image_without_the_harness_and_one_that_is_nowhere_say_so(place: TrainingPlace, engine: DockerEngine) -> None:
    place.sums()
    folder = place.folder / "bare"
    folder.mkdir()
    place.evaluate["image"] = await built(engine, folder, "ENV BARE=yes\n", "nodus-test/bare:1")
    async with place.backend() as backend:
        with pytest.raises(NodusError, match=r"the image nodus-test/bare:1 has no lm-evaluation-harness: correct evaluate\.image"):
            await backend.apply(place.benchmark("sums"))
    place.evaluate["image"] = "nowhere.invalid/evaluate:1"
    async with place.backend() as backend:
        await backend.apply(place.benchmark("sums"))
        status = await until(backend)
        assert (status.phase, "nowhere.invalid" in (status.message or "")) == ("Failed", True), status.message
        assert (status.reason, status.started_at, status.cost_usd) == ("NotStarted", None, Decimal(0)), "fetching it cost nothing"
        assert not await containers(engine, place)


class Gate:
    """Stands before a registry on loopback. Shut, it takes who comes and passes nothing on."""

    def __init__(self) -> None:
        self.address = ""
        self.waited = asyncio.Event()
        """That somebody came while it was shut."""
        self._open = asyncio.Event()
        self._open.set()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    @asynccontextmanager
    async def before(self, port: int) -> AsyncIterator[None]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if not self._open.is_set():
                self.waited.set()
                await self._open.wait()
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield
            self.open()

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()
        sink.close()


async def test_fetching_the_image_costs_nothing_as_for_a_job_that_is_one(
    place: TrainingPlace, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no Python: that the job begins is told by its failure."""
    if engine.client.endpoint.unix is None:
        pytest.skip("the registry listens on this machine's loopback, and the engine may be on another")
    place.sums()
    gate, folder = Gate(), place.folder / "pulled"
    folder.mkdir()
    with private_registry(folder) as registry:
        async with gate.before(int(registry.address.rpartition(":")[2])):
            reference = f"{gate.address}/evaluate:1"
            login = {"username": "tester", "password": PASSWORD, "serveraddress": gate.address}
            (folder / "config.json").write_text(
                json.dumps({"auths": {gate.address: {"auth": b64encode(f"tester:{PASSWORD}".encode()).decode()}}})
            )
            (folder / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
            await engine.build(str(folder), "Dockerfile", reference)
            pushing = engine.client.lines(
                f"/images/{gate.address}/evaluate/push", params={"tag": "1"}, headers={"X-Registry-Auth": encoded(login)}, quiet_seconds=60
            )
            async with aclosing(pushing):
                assert [each async for each in pushing if "aux" in each]
            await engine.client.ask("DELETE", f"/images/{reference}", params={"force": "1"})
            monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.client.endpoint.unix}")
            monkeypatch.setenv("DOCKER_CONFIG", str(folder))
            place.evaluate["image"] = reference
            gate.shut()
            async with place.backend() as backend:
                await backend.apply(place.benchmark("sums"))
                await gate.waited.wait()
                held = await until(backend, lambda status: status.message == "its image is being fetched")
                assert (held.phase, held.started_at, held.cost_usd) == ("Pending", None, Decimal(0))
                await backend.act(Kill(kind="TrainingJob", name="score"))
                killed = await until(backend)
                assert (killed.phase, killed.reason, killed.started_at, killed.cost_usd) == ("Cancelled", "Killed", None, Decimal(0))
                await backend.act(RetryJob(kind="TrainingJob", name="score"))
                await until(backend, lambda status: status.message == "its image is being fetched")
                opened = datetime.now(UTC)
                gate.open()
                status = await until(backend)
                assert "could not be started in the image" in (status.message or ""), status
                assert status.started_at is not None
                assert status.started_at > opened
                assert status.cost_usd > 0
                assert f"pulled {reference}" in await log_of(backend)
            await engine.client.ask("DELETE", f"/images/{reference}", params={"force": "1"})


async def test_a_python_that_the_image_does_not_have_is_told(place: TrainingPlace) -> None:
    place.sums()
    place.python = "/opt/none/python"
    async with place.backend() as backend:
        with pytest.raises(NodusError, match="/opt/none/python could not be started in the image"):
            await backend.apply(place.benchmark("sums"))


def test_a_container_is_given_the_jobs_devices_and_sees_where_a_models_links_lead(tmp_path: Path) -> None:
    model, blobs, work = tmp_path / "model", tmp_path / "blobs", tmp_path / "work"
    for folder in (model, blobs, work):
        folder.mkdir()
    (blobs / "weights").touch()
    (model / "model.safetensors").symlink_to(blobs / "weights")
    order = EvaluationOrder(
        job="score",
        workspace="/w",
        uri="",
        python="python3",
        model=OrderedModel("local", str(model)),
        parameters={},
        image=OrderedImage("own/harness:1", 8 << 30, (("/data", "/data", "ro"),)),
    )
    environ = {
        "HOME": str(tmp_path),
        "DOCKER_HOST": "unix:///x",
        "NVIDIA_VISIBLE_DEVICES": "GPU-a,GPU-b",
        "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b",
        "NODUS_DEVICE_PLACES": "0,1:3",
    }
    assert order.image is not None
    assert EvaluationOrder.from_text(order.to_text()) == order
    words = command_in(order.image, order, work, environ, ["python3", "-c", "1"], network=False)
    request = ContainerRequest.from_text(Path(words[-2]).read_text())
    assert request.devices == (("GPU-a", "0"), ("GPU-b", "1:3"))
    assert {(source, mode) for source, _, mode in request.mounts} >= {
        (str(model), "ro"), (str(blobs), "ro"), (str(work), "rw"), (str(tmp_path / ".cache" / "huggingface"), "rw"), ("/data", "ro")
    }  # fmt: skip
    inside = container_environ(environ)
    assert inside["CUDA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"
    assert not {"DOCKER_HOST", "NODUS_DEVICE_PLACES"} & set(inside)
