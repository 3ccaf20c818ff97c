"""Accelerators in words."""

from datetime import timedelta

import pytest
from console_records import NOW

from nodus_tui.contract.hardware_view import DeviceHolder
from nodus_tui.contract.phases import UntilKind
from nodus_tui.contract.resources.hardware import MachineSlice
from nodus_tui.view_state.devices import given_words, hardware_words, holders_words, until_words, waiting_words
from nodus_tui.view_state.figures import clock_text


@pytest.mark.parametrize(
    ("kind", "said"), [("Exact", "until 14:20"), ("About", "until about 14:20"), ("AtLatest", "until 14:20 at the latest")]
)
def test_how_sure_a_moment_is(kind: UntilKind, said: str) -> None:
    assert until_words("14:20", kind) == said


def test_a_wait_is_told_with_the_clock_of_whoever_reads() -> None:
    later = NOW.replace(second=0, microsecond=0) + timedelta(minutes=5, seconds=1)
    assert waiting_words("waits for 1 × L4", later, "Exact", NOW) == f"waits for 1 × L4, until {clock_text(later, NOW)}"
    minute = f"{(later + timedelta(minutes=1)).astimezone(NOW.tzinfo):%H:%M}"
    assert waiting_words("waits for 1 × L4", later, "About", NOW) == f"waits for 1 × L4, until about {minute}"
    assert f"{later + timedelta(days=2):%d %b }" in waiting_words("", later + timedelta(days=2), "AtLatest", NOW)
    assert waiting_words("waits for 1 × L4", None, "About", NOW) == "waits for 1 × L4"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({}, "CPU"),
        ({"hardware": "L4"}, "L4"),
        ({"hardware": "H100", "accelerators": 2, "acceleratorMemoryGiB": 60}, "2 × H100, 60 GiB each"),
        ({"hardware": "H100", "acceleratorMemoryGiB": 0.5, "shareAccelerators": True}, "H100, 0.5 GiB, shared"),
    ],
)
def test_what_is_asked_for(part: dict[str, object], said: str) -> None:
    assert hardware_words(MachineSlice.model_validate(part)) == said


def test_what_was_given_and_to_whom() -> None:
    assert given_words("H100", ("0 NVIDIA H100", "1:3 NVIDIA H100 MIG 1g.10gb")) == "GPU 0, 1:3 (H100)"
    assert given_words("", ()) == ""
    later = NOW.replace(second=0, microsecond=0) + timedelta(minutes=5)
    holders = (
        DeviceHolder(kind="Job", name="train", since=NOW, until=later, until_kind="AtLatest"),
        DeviceHolder(kind="AgentRun", name="hello-c001", since=NOW, shared=True),
    )
    assert holders_words(holders, NOW) == f"job train until {later.astimezone(NOW.tzinfo):%H:%M} at the latest; run hello-c001, shared"
