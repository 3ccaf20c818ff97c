"""The detached scheduler's settings: it leaves by itself when idle, and only then."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from local_backend.hosting import log, scheduler_service
from nodus_tui.contract.configuration import Configuration, SchedulerSettings
from nodus_tui.contract.durations import parse_duration
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.spec_loading.loader import load_configuration


class Idle:
    """What it looks at: whether work is unfinished, and how long nobody has asked. A stand-in, so that no test waits for minutes."""

    def __init__(self, *, unfinished: bool, quiet: float) -> None:
        self.unfinished = unfinished
        self.quiet = quiet

    async def looked(self, _: Any) -> bool:
        return self.unfinished

    def idle_seconds(self) -> float:
        return self.quiet


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_service, "_IDLE_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(scheduler_service, "_PLACE_LOOK_SECONDS", 0.001)


async def left_by_itself(idle: Idle, settings: SchedulerSettings, monkeypatch: pytest.MonkeyPatch, asked_after: float = 0.3) -> str:
    monkeypatch.setattr(scheduler_service, "_unfinished", idle.looked)
    stop = asyncio.Event()
    # What has not decided to leave after so many looks does not: then it is asked to.
    asyncio.get_running_loop().call_later(asked_after, stop.set)
    here = Path(__file__).parent
    return await scheduler_service._until_stopped(idle, idle, stop, settings, here)  # type: ignore[arg-type]  # stand-ins


async def test_it_leaves_when_idle_and_never_while_work_is_unfinished_or_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = SchedulerSettings.model_construct(idle_exit=parse_duration("0s"), stop_grace=parse_duration("1s"))
    assert "nothing to do" in await left_by_itself(Idle(unfinished=False, quiet=100), at_once, monkeypatch, asked_after=60)
    assert (
        await left_by_itself(Idle(unfinished=True, quiet=100), SchedulerSettings(idle_exit=parse_duration("1m")), monkeypatch) == "asked to"
    )
    assert (
        await left_by_itself(Idle(unfinished=False, quiet=0), SchedulerSettings(idle_exit=parse_duration("1m")), monkeypatch) == "asked to"
    )
    assert await left_by_itself(Idle(unfinished=False, quiet=1e9), SchedulerSettings(idle_exit="never"), monkeypatch) == "asked to"


def test_settings_are_read_and_bounded() -> None:
    assert Configuration().scheduler.idle_exit == parse_duration("30m")
    assert load_configuration("c.yaml", b"scheduler: {idleExit: never, stopGrace: 2m}").scheduler.idle_exit == "never"
    with pytest.raises(NodusError) as refused:
        load_configuration("c.yaml", b"scheduler: {idleExit: 5s, stopGrace: 2h}")
    assert {fault.path for fault in refused.value.faults} == {"scheduler.idleExit", "scheduler.stopGrace"}


def test_the_log_begins_anew_when_it_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_BYTES", 2_000)
    handler = log._Log(tmp_path / "logs" / "scheduler.log", takes_stderr=False)
    logger = logging.getLogger("nodus-test-rotation")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        for number in range(200):
            logger.warning("line %d of many that fill a file", number)
    finally:
        logger.removeHandler(handler)
        handler.close()
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "logs").iterdir()}
    assert set(sizes) == {"scheduler.log", "scheduler.log.1", "scheduler.log.2", "scheduler.log.3"}
    assert max(sizes.values()) <= 2_000
