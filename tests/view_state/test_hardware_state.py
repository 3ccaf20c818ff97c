"""The GPU view folded from looks: rows, sparklines, age, and what is said of trouble."""

from datetime import timedelta

import pytest
from console_records import NOW
from hardware_records import GIB, device, hardware, later, process, without_driver

from nodus_tui.contract.hardware_view import EccFact, MachineFact, PcieFact
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.hardware import HardwareState
from nodus_tui.view_state.hardware_words import device_words, gib_of, machine_words, rate_text, sparkline, warnings_of


def taken(*views: object) -> HardwareState:
    state = HardwareState()
    for view in views:
        state.take(view, NOW)  # type: ignore[arg-type]  # views all of them
    return state


def places(state: HardwareState) -> list[str]:
    return [state.devices.item(state.devices.key_at(index)).place for index in range(len(state.devices))]


def test_devices_stand_in_order_with_their_slices_below_them() -> None:
    state = taken(hardware())
    assert places(state) == ["0", "1", "2", "2:0", "2:3", "3", "4"]
    slices = state.devices.item("2:0")
    assert state.first_process_on(slices) == "2:0 compute 4410"
    assert state.first_process_on(state.devices.item("2")) == "2:0 compute 4410"
    assert state.first_process_on(state.devices.item("3")) is None


def test_samples_go_on_from_the_history_and_none_counts_twice() -> None:
    first = hardware()
    state = taken(first)
    assert state.devices.item("3").utilization == (None, 80, 40, 0, 0, 0)
    state.take(first, NOW)
    assert state.devices.item("3").utilization == (None, 80, 40, 0, 0, 0), "the same look again"
    state.take(later(first, 1, device(3, utilization_percent=70, history=None)), NOW)
    assert state.devices.item("3").utilization[-2:] == (0, 70)
    assert not state.wants_history
    assert HardwareState().wants_history


def test_what_is_gone_leaves_the_rows() -> None:
    state = taken(hardware(), later(hardware(), 1, device(0, processes=(process(9),))))
    assert places(state) == ["0"]
    assert list(state.processes.keys()) == ["0 compute 9"]


def test_figures_that_are_not_renewed_say_how_old_they_are() -> None:
    state = HardwareState()
    state.fail("the socket does not answer")
    assert state.state_words(NOW) == (), "where there are no figures, the view says why in their place"
    assert "cannot be read: the socket does not answer" in plain(state.empty_lines()[0])
    state.take(hardware(), NOW)
    assert state.state_words(NOW) == ()
    assert plain(state.state_words(NOW + timedelta(seconds=7))) == "! These figures are 7s old"
    state.fail("gone")
    assert plain(state.state_words(NOW + timedelta(seconds=2))) == "! These figures are 2s old: gone"


def test_no_devices_is_a_sentence_and_the_machine_is_there() -> None:
    state = taken(without_driver())
    assert [plain(each) for each in state.empty_lines()] == [
        "No GPUs here.",
        "No NVIDIA driver here: its library libnvidia-ml.so.1 is not found.",
    ]
    lines = [plain(each) for each in state.machine_lines(200)]
    assert "37% of 64 CPUs" in lines[0]
    assert len(lines) == 2
    # Where it is narrow they are broken between facts.
    narrow = [plain(each) for each in state.machine_lines(60)]
    assert narrow[0] == lines[0]
    assert " · ".join(narrow[1:]) == lines[1]
    assert len(narrow) > 2


def test_a_vanished_device_is_told_beside_the_others() -> None:
    gone = hardware().model_copy(update={"notes": ("NVIDIA H100 (GPU-9) was here until 12:00:00 UTC",)})
    assert "was here until" in plain(taken(gone).machine_lines(200)[2])


@pytest.mark.parametrize(
    ("samples", "width", "shown"),
    [((0, 50, 100), 3, "▁▄█"), ((None, 100), 4, "   █"), ((1, 2, 3, 100), 2, "▁█"), ((), 3, "   "), ((250, -3), 2, "█▁"), ((1,), 0, "")],
)
def test_sparklines(samples: tuple[int | None, ...], width: int, shown: str) -> None:
    assert sparkline(samples, width) == shown


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (None, "–"),
        (0, "0 B/s"),
        (999.4, "999 B/s"),
        (999.9, "1.0 KiB/s"),
        (12_400_000, "12 MiB/s"),
        (9_949_000, "9.5 MiB/s"),
        (8e16, "72760 TiB/s"),
    ],
)
def test_rates(rate: float | None, shown: str) -> None:
    assert rate_text(rate) == shown


def test_sizes() -> None:
    assert gib_of(None, None) == "–"
    assert gib_of(None, 80 * GIB) == "–/80.0 GiB"
    assert gib_of(1800 * GIB, 3600 * GIB) == "1.8/3.5 TiB"


def test_what_a_person_should_look_into() -> None:
    failing = EccFact(enabled=True, corrected=1, uncorrected=1, remapping_pending=True, remapping_failed=True)
    assert warnings_of(device(0, throttle_reasons=("power limit",), ecc=failing)) == (
        "slowed down: power limit",
        "1 uncorrected memory error since the driver was loaded",
        "memory rows wait to be replaced: reset the device",
        "memory rows could not be replaced: the device needs service",
    )
    assert warnings_of(device(0)) == ()


def test_what_is_not_told_is_left_out() -> None:
    bare = device(0, clocks=None, pcie=None, nvlink=None, ecc=None)
    assert device_words(bare) == ()
    narrow = device(
        0, clocks=None, nvlink=None, ecc=EccFact(enabled=False), pcie=PcieFact(generation=4, max_generation=4, width=8, max_width=16)
    )
    assert device_words(narrow) == ("PCIe 4×8 (could 4×16)", "ECC off")
    assert machine_words(MachineFact(host="h")) == ("– CPU", "memory –", "disk –", "read –, write –", "net in –, out –")
