"""The desk over the tests' NVML library: waiting in order, what others on the machine do, and what the devices took."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cards_here import own_card
from nvml_here import GIB, Nvml, compile_library

from local_backend.devices import desk as desk_module
from local_backend.devices.allocation import Claim, Offer, Waits
from local_backend.devices.desk import DeviceDesk, Lease
from local_backend.devices.machine_claims import claim
from local_backend.devices.pricing import Pricing
from local_backend.devices.wanted import Wanted
from local_backend.hardware.watch import HardwareWatch
from nodus_tui.contract.configuration import HardwareSettings
from nodus_tui.contract.hardware_view import HardwareView

pytestmark = pytest.mark.timeout(60)
H100 = Wanted(("H100",), 1)
RATES = {"H100": Decimal("2.6")}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def nvml(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Nvml:
    monkeypatch.setattr(desk_module, "LOOK_SECONDS", 0.02)
    return Nvml(tmp_path / "nvml", library)


@asynccontextmanager
async def opened(nvml: Nvml, settings: dict[str, Any] | None = None, **more: Any) -> AsyncIterator[DeviceDesk]:
    """A desk whose looks follow each other quickly."""
    watch = HardwareWatch(nvml.folder, nvml.environ, lambda: datetime.now(UTC), period=0.02)
    pricing = Pricing(RATES, more.get("usd_per_kwh"))
    made = DeviceDesk(watch.view, HardwareSettings.model_validate(settings or {}), pricing, lambda: datetime.now(UTC))
    try:
        yield made
    finally:
        await made.aclose()
        await watch.aclose()


class Waiter:
    """Somebody who waits, and what it was told."""

    def __init__(self, desk: DeviceDesk, key: str, wanted: Wanted = H100) -> None:
        self.told: list[Waits] = []
        self._heard = asyncio.Event()
        kind, _, name = key.partition("/")
        self.task = asyncio.create_task(desk.lease(key, f"{kind.lower()} {name}", wanted, self._hear))

    async def _hear(self, waits: Waits) -> None:
        self.told.append(waits)
        self._heard.set()

    async def hears(self, words: str) -> Waits:
        """The first thing it is told that has these words."""
        while True:
            self._heard.clear()
            found = next((each for each in self.told if words in each.message), None)
            if found is not None:
                return found
            await self._heard.wait()


async def got(waiter: Waiter) -> Lease:
    return await asyncio.wait_for(waiter.task, 30)


async def seen(desk: DeviceDesk, holds: Callable[[], bool]) -> None:
    while not holds():
        await desk.change.wait()


async def test_one_after_the_other_in_the_order_of_asking(nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with opened(nvml) as desk:
        first = await got(Waiter(desk, "Job/first"))
        assert (first.uuids, first.hardware, first.tariff.rate, first.tariff.metered) == ((one.uuid,), "H100", 2_600_000_000, False)
        assert [(each.kind, each.name) for each in desk.holders()[one.uuid]] == [("Job", "first")]
        desk.expect("Job/first", until := datetime.now(UTC) + timedelta(hours=1))
        second, third = Waiter(desk, "AgentRun/second"), Waiter(desk, "Job/third")
        told = await second.hears("1 busy with job first")
        assert (told.until, told.until_kind) == (until, "AtLatest")
        assert (await third.hears("behind agentrun second")).until is None
        desk.release("Job/first")
        await got(second)
        assert not third.task.done()
        desk.release("AgentRun/second")
        await got(third)


async def test_somebody_who_gives_up_waiting_is_waited_for_by_nobody(nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    async with opened(nvml) as desk:
        await got(Waiter(desk, "Job/a"))
        second, third = Waiter(desk, "Job/b"), Waiter(desk, "Job/c")
        await third.hears("behind job b")
        second.task.cancel()
        desk.release("Job/a")
        await got(third)


async def test_a_strangers_program_is_respected_and_a_screen_is_not(nvml: Nvml) -> None:
    used, screen = own_card(0), own_card(1, memory_used=2 * GIB)
    used.processes = [f"{os.getpid()} {GIB} compute"]
    screen.processes = [f"{os.getpid()} {2 * GIB} graphics"]
    nvml.tell(used, screen)
    async with opened(nvml) as desk:
        assert (await got(Waiter(desk, "Job/a"))).uuids == (screen.uuid,)
        waiter = Waiter(desk, "Job/b")
        await waiter.hears("1 busy with job a; 1 in use by others: python")
        used.processes = []
        nvml.tell(used, screen)
        assert (await got(waiter)).uuids == (used.uuid,)


async def test_memory_that_is_in_use_for_no_reason_is_a_strangers(nvml: Nvml) -> None:
    nvml.tell(own_card(0, memory_used=GIB))
    async with opened(nvml) as desk:
        waiter = Waiter(desk, "Job/a")
        await waiter.hears("1 in use by others: 1.0 GiB of no process that can be seen")
        waiter.task.cancel()
    async with opened(nvml, {"idleMemoryMiB": 2000}) as desk:
        await got(Waiter(desk, "Job/a"))


async def test_a_lost_device_is_not_given_until_it_answers_again(nvml: Nvml) -> None:
    lost = own_card(0)
    nvml.tell(lost)
    async with opened(nvml) as desk:
        assert (await desk.assess(H100))[0] == ""
        lost.failures = ["* 15"]
        nvml.tell(lost)
        while (await desk._look()).devices[0].responding:
            await asyncio.sleep(0)
        waiter = Waiter(desk, "Job/a")
        await waiter.hears("1 does not answer")
        lost.failures = []
        nvml.tell(lost)
        await got(waiter)


async def test_two_workspaces_of_one_machine_never_have_the_same_device(nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    async with opened(nvml) as desk, opened(nvml) as other:
        await got(Waiter(desk, "Job/a"))
        waiter = Waiter(other, "Job/b")
        await waiter.hears("1 in use by another workspace of ")
        desk.release("Job/a")
        await got(waiter)


async def test_a_device_that_somebody_else_took_a_moment_ago_is_waited_for(nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with opened(nvml) as desk:
        desk.ask("Job/a", "job a", H100)
        await seen(desk, lambda: isinstance(desk.ask("Job/a", "job a", H100), Offer))
        offer = desk.ask("Job/a", "job a", H100)
        assert isinstance(offer, Offer)
        theirs = claim([one.uuid], shared=False, places=4)
        assert desk.take("Job/a", "job a", H100, offer) is None
        assert isinstance(desk.ask("Job/a", "job a", H100), Waits)
        theirs.close()
        await seen(desk, lambda: isinstance(desk.ask("Job/a", "job a", H100), Offer))


async def test_sharers_of_two_workspaces_take_the_places_of_one_device(nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    shared = Wanted(("H100",), 1, shared=True)
    async with opened(nvml, {"sharedHolders": 2}) as desk, opened(nvml, {"sharedHolders": 2}) as other:
        await got(Waiter(desk, "Job/a", shared))
        one.processes = [f"{os.getpid()} {GIB} compute"]
        nvml.tell(one)
        await got(Waiter(other, "Job/b", shared))
        third = Waiter(desk, "Job/c", shared)
        await third.hears("all 2 places of 1 taken by job a")
        await Waiter(other, "Job/d").hears("1 busy with job b")
        one.processes = []
        nvml.tell(one)
        other.release("Job/b")
        await got(third)


async def test_a_name_is_what_the_user_says_it_is(nvml: Nvml) -> None:
    nvml.tell(own_card(0, "NVIDIA Graphics Device"))
    async with opened(nvml, {"devices": {"H100": "*graphics device"}}) as desk:
        assert (await got(Waiter(desk, "Job/a"))).hardware == "H100"


async def test_what_is_not_here_or_has_no_price_is_refused_with_what_to_do(nvml: Nvml) -> None:
    nvml.tell(own_card(0), own_card(1, "NVIDIA L4"))
    async with opened(nvml) as desk:
        reason, price = await desk.assess(Wanted(("H100",), 2))
        assert reason == "it asks for 2 × H100, and this machine has 1 × NVIDIA H100 80GB HBM3"
        assert price == 5_200_000_000
        reason, price = await desk.assess(Wanted(("L4",), 1))
        assert reason.startswith("nothing is known of what L4 costs: set an hourly rate under `rates`")
        assert price is None
        assert await desk.assess(Wanted(("L4", "H100"), 1)) == ("", 2_600_000_000)
        desk.ask("Job/a", "job a", Wanted(("L4",), 1))
        await seen(desk, lambda: desk.ask("Job/a", "job a", Wanted(("L4",), 1)) is not None)
        told = desk.ask("Job/a", "job a", Wanted(("L4",), 1))
        assert isinstance(told, Waits), "also where its price has gone since it was applied"
        assert "nothing is known of what L4 costs" in told.message


async def test_a_machine_without_a_driver_says_so(nvml: Nvml) -> None:
    nvml.tell(failures=("nvmlInitWithFlags 9",))
    async with opened(nvml) as desk:
        assert "this machine has no devices to give (" in (await desk.assess(H100))[0]


async def test_what_an_earlier_scheduler_gave_is_given_to_nobody_else(nvml: Nvml) -> None:
    nvml.tell(one := own_card(0))
    async with opened(nvml) as desk:
        desk.adopt(Claim("Job/old", "job old", "H100", (one.uuid,), shared=False, since=datetime.now(UTC)), 7, {})
        waiter = Waiter(desk, "Job/new")
        await waiter.hears("1 busy with job old")
        desk.release("Job/old")
        await got(waiter)


async def test_nobody_waiting_costs_no_looks(nvml: Nvml) -> None:
    nvml.tell(own_card(0))
    looks = 0
    watch = HardwareWatch(nvml.folder, nvml.environ, lambda: datetime.now(UTC), period=0.02)

    async def look() -> HardwareView:
        nonlocal looks
        looks += 1
        return await watch.view()

    desk = DeviceDesk(look, HardwareSettings(), Pricing(RATES), lambda: datetime.now(UTC))
    await got(Waiter(desk, "Job/a"))
    await desk._looking  # type: ignore[misc]  # it ends by itself
    assert looks <= 2
    await desk.aclose()
    await watch.aclose()


async def test_electricity_is_what_the_counter_says_and_nobody_pays_for_more_than_the_limit(
    nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = own_card(0, power=100_000, energy=1_000_000)
    nvml.tell(one)
    async with opened(nvml, usd_per_kwh=Decimal("0.30")) as desk:
        lease = await got(Waiter(desk, "Job/a"))
        assert (lease.tariff.rate, lease.tariff.metered) == (210_000_000, True), "700 W at $0.30"
        one.figures["energy"] = 2_000_000
        nvml.tell(one)
        await seen(desk, lambda: lease.meter is not None and lease.meter.joules == 1000)
        desk.started("Job/a", datetime.now(UTC))
        assert lease.readings["joules"] == 1000, "it was given a moment ago"
        monkeypatch.setattr(desk_module, "PREPARING", timedelta())
        desk.started("Job/a", datetime.now(UTC) + timedelta(seconds=1))
        assert lease.readings["joules"] == 0, "what was taken before it began is not its to pay"
        one.figures["energy"] = 38_000_000
        nvml.tell(one)
        await seen(desk, lambda: lease.meter is not None and lease.meter.joules >= 36_000)
        assert lease.readings["joules"] == 36_000
        used = desk.settle("Job/a", datetime.now(UTC) + timedelta(seconds=1))
        assert used is not None
        assert used.joules == pytest.approx(36_000, abs=1000)
        assert used.cost == pytest.approx(3_000_000, rel=0.05), "0.01 kWh"
        assert used.note == ""
        desk.release("Job/a")
        assert desk.settle("Job/a", datetime.now(UTC)) is None
