"""The pool's own logic; the engine here is a stand-in that makes nothing, since places and choices do not depend on what it makes."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from engine_suite import request, until

from local_backend.sandboxes.interface import Owner, Sandbox, SandboxEngine, SandboxError, SandboxRequest
from local_backend.sandboxes.pool import SandboxPool
from nodus_tui.contract.sandboxes import SandboxEngineFact

OWNER = Owner("here", 1, "1")
NONE = SandboxEngineFact(engine="none", isolation="none", reason="bubblewrap is not installed")


async def no_engine() -> tuple[SandboxEngine | None, SandboxEngineFact]:
    return None, NONE


async def test_as_many_places_as_there_are_are_given_at_once_and_the_rest_wait_in_order() -> None:
    pool = SandboxPool(no_engine, OWNER, 2)
    first, second = await pool.place(), await pool.place()
    order: list[str] = []

    async def take(name: str) -> None:
        place = await pool.place()
        order.append(name)
        place.release()

    waiting = [asyncio.create_task(take(name)) for name in ("a", "b", "c")]
    for _ in range(5):
        await asyncio.sleep(0)
    assert (order, pool.taken, pool.free()) == ([], 2, False)
    first.release()
    first.release()
    await asyncio.gather(*waiting)
    assert (order, pool.taken) == (["a", "b", "c"], 1)
    second.release()
    assert (pool.taken, pool.free()) == (0, True)


async def test_who_stops_waiting_takes_no_place_and_holds_nobody_up() -> None:
    pool = SandboxPool(no_engine, OWNER, 1)
    place = await pool.place()
    impatient, patient = asyncio.create_task(pool.place()), asyncio.create_task(pool.place())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    place.release()
    (await patient).release()
    assert (pool.taken, pool.free()) == (0, True)


async def test_a_place_given_in_the_moment_of_a_cancel_goes_to_the_next() -> None:
    pool = SandboxPool(no_engine, OWNER, 1)
    place = await pool.place()
    impatient = asyncio.create_task(pool.place())
    await asyncio.sleep(0)
    place.release()
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    assert (pool.taken, pool.free()) == (0, True)


async def test_without_an_engine_it_says_why() -> None:
    pool = SandboxPool(no_engine, OWNER, 1)
    assert pool.known_fact is None
    with pytest.raises(SandboxError, match="bubblewrap is not installed"):
        await pool.engine()
    assert pool.known_fact == NONE
    await pool.aclose()


class Slow:
    """An engine whose image is ready when the test says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.built = 0
        self.ready = asyncio.Event()
        self.fails = ""

    async def prepare(self, image: str | None, progress: Callable[[str], None] | None = None) -> str:
        self.asked += 1
        if progress is not None:
            progress("half of it is here")
        await self.ready.wait()
        if self.fails:
            raise SandboxError(self.fails)
        return f"{image}@sha256:1"

    async def build(self, folder: str, dockerfile: str, tag: str, progress: Callable[[str], None] | None = None) -> str:
        self.built += 1
        return f"sha256:{tag}"

    async def create(self, request: SandboxRequest) -> Sandbox:
        raise SandboxError(f"there is no image {request.image}")

    async def aclose(self) -> None: ...


async def pool_over(engine: Slow) -> SandboxPool:
    async def choose() -> tuple[SandboxEngine | None, SandboxEngineFact]:
        return engine, NONE  # type: ignore[return-value]  # the parts of an engine that the pool uses here

    return SandboxPool(choose, OWNER, 1)


async def test_an_image_is_made_ready_once_for_all_who_ask_and_each_is_told_how_far_it_is() -> None:
    engine = Slow()
    pool = await pool_over(engine)
    told: dict[str, list[str]] = {"a": [], "b": []}
    asking = [asyncio.create_task(pool.prepare("x", told[name].append)) for name in told]
    while not engine.asked:
        await asyncio.sleep(0)
    engine.ready.set()
    assert await asyncio.gather(*asking) == ["x@sha256:1"] * 2
    assert (engine.asked, told["a"]) == (1, ["half of it is here"])


async def test_an_image_that_failed_is_tried_again_when_it_is_asked_for_again() -> None:
    engine = Slow()
    pool = await pool_over(engine)
    engine.fails = "no such image"
    engine.ready.set()
    with pytest.raises(SandboxError, match="no such image"):
        await pool.prepare("x", lambda line: None)
    engine.fails = ""
    assert await pool.prepare("x", lambda line: None) == "x@sha256:1"


async def test_who_stops_asking_for_an_image_does_not_stop_it_for_others() -> None:
    engine = Slow()
    pool = await pool_over(engine)
    impatient = asyncio.create_task(pool.prepare("x", lambda line: None))
    patient = asyncio.create_task(pool.prepare("x", lambda line: None))
    while not engine.asked:
        await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    engine.ready.set()
    assert await patient == "x@sha256:1"


async def test_an_image_is_built_once_and_again_after_a_sandbox_could_not_be_made_of_it() -> None:
    engine = Slow()
    pool = await pool_over(engine)
    for _ in range(2):
        image = await pool.build("folder", "tag", lambda line: None)
    assert engine.built == 1
    with pytest.raises(SandboxError, match="there is no image sha256:tag"):
        await pool.create(request("run", image=image))
    await pool.build("folder", "tag", lambda line: None)
    assert engine.built == 2


class Ending:
    """A sandbox that ends when the test says so."""

    id = "ending"

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.ended = False

    async def aclose(self) -> None:
        await self.may_end.wait()
        self.ended = True


async def test_closing_lets_the_sandboxes_that_are_ending_end() -> None:
    pool = await pool_over(Slow())
    sandbox = Ending()
    disposing = asyncio.create_task(pool.dispose(sandbox))  # type: ignore[arg-type]  # the part of a sandbox that the pool uses here
    await asyncio.sleep(0)
    disposing.cancel()
    closing = asyncio.create_task(pool.aclose())
    asyncio.get_running_loop().call_soon(sandbox.may_end.set)
    await closing
    assert sandbox.ended


async def test_a_sandbox_that_cannot_be_removed_by_a_fault_of_ours_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local_backend.sandboxes.pool._DISPOSE_SECONDS", 0.01)

    class Stubborn:
        id = "stubborn"
        tries = 0

        async def aclose(self) -> None:
            self.tries += 1
            if self.tries < 3:
                raise RuntimeError("a fault")

    sandbox = Stubborn()
    pool = SandboxPool(no_engine, OWNER, 1)
    await pool.dispose(cast("Sandbox", sandbox))
    await until(lambda: sandbox.tries == 3)
    await pool.aclose()
