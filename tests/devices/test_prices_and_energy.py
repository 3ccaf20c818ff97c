"""What devices cost: by the hour, and by the electricity that they took."""

from datetime import timedelta
from decimal import Decimal

from device_records import L4, NOW, device, named
from hypothesis import given
from hypothesis import strategies as st

from local_backend.devices.energy import Meter
from local_backend.devices.inventory import Device
from local_backend.devices.pricing import Pricing, Tariff

HOURLY = Pricing({"H100 SXM": Decimal("2.6"), "L4": Decimal("0.43"), "CPU": Decimal(1)})
ELECTRIC = Pricing(HOURLY.rates, Decimal("0.30"))
USD = 10**9


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def powered(power: float | None, energy: float | None = None, *, limit: float = 700, **more: object) -> Device:
    return device(0, power_w=power, energy_j=energy, power_limit_w=limit, **more)


def test_by_the_hour_devices_cost_as_often_as_they_are_many() -> None:
    assert HOURLY.of("H100", (device(0), device(1))) == Tariff(5_200_000_000)
    assert HOURLY.of("A100", (device(0),)) is None
    assert Pricing({"H100": Decimal(0)}).of("H100", (device(0),)) == Tariff(0), "a price of nothing is a price"


def test_electricity_costs_the_power_limit_at_most() -> None:
    assert ELECTRIC.of("Abacus", (powered(100),)) == Tariff(210_000_000, metered=True)
    assert ELECTRIC.of("H100", (device(0),)) == Tariff(2_600_000_000), "no limit is told: the price list counts"
    assert ELECTRIC.of("Abacus", (device(0),)) is None
    assert ELECTRIC.of("H100", (powered(100), device(1))) == Tariff(2_810_000_000), "what is measured in part is not measured"


def test_the_dearest_of_what_is_here_counts_before_something_is_given() -> None:
    here = [device(0), device(1, L4, gib=24)]
    assert HOURLY.dearest(("L4", "H100"), 2, here, named) == 5_200_000_000
    assert HOURLY.dearest(("L4", "H100"), 2, here[1:], named) == 860_000_000, "what is not here will not be given"
    assert HOURLY.dearest(("L4", "H100"), 1, [], named) == 2_600_000_000
    assert HOURLY.dearest(("RTX-4090",), 1, here, named) is None
    assert ELECTRIC.dearest(("H100",), 2, [powered(100)], named) == 420_000_000


def test_energy_is_rounded_up() -> None:
    assert ELECTRIC.energy_nano(3_600_000) == 300_000_000
    assert ELECTRIC.energy_nano(0.000001) == 1
    assert HOURLY.energy_nano(3_600_000) == 0


def test_the_counter_is_believed_over_any_gap() -> None:
    meter = Meter.begin([powered(100, 1000)], NOW)
    meter.take([powered(650, 90_000)], NOW + seconds(3600), {})
    meter.settle(NOW + seconds(3601))
    assert (meter.joules, meter.assumed_seconds) == (89_000 + 650, 0)


def test_without_a_counter_samples_of_power_are_added_up() -> None:
    meter = Meter.begin([powered(100)], NOW)
    meter.take([powered(300)], NOW + seconds(2), {})
    meter.settle(NOW + seconds(3))
    assert (meter.joules, meter.assumed_seconds) == (400 + 300, 0)


def test_where_nothing_is_told_the_limit_counts_and_is_marked() -> None:
    meter = Meter.begin([powered(None)], NOW)
    meter.take([powered(None)], NOW + seconds(2), {})
    meter.settle(NOW + seconds(3))
    assert (meter.joules, meter.assumed_seconds) == (2100, 3)
    gap = Meter.begin([powered(100)], NOW)
    gap.take([powered(100)], NOW + seconds(60), {})
    assert (gap.joules, gap.assumed_seconds) == (42_000, 60), "samples a minute apart say nothing of the minute"


def test_a_counter_that_began_anew_counts_no_more_than_the_limit() -> None:
    meter = Meter.begin([powered(100, 50_000)], NOW)
    meter.take([powered(100, 10)], NOW + seconds(20), {})
    assert (meter.joules, meter.assumed_seconds) == (14_000, 20)


def test_a_device_that_does_not_answer_is_made_up_for_by_the_next_sample() -> None:
    meter = Meter.begin([powered(100, 0)], NOW)
    meter.take([powered(None, None, responding=False)], NOW + seconds(5), {})
    meter.take([powered(100, 3000)], NOW + seconds(10), {})
    assert (meter.joules, meter.assumed_seconds) == (3000, 0)


def test_of_a_shared_device_each_pays_its_part() -> None:
    meter = Meter.begin([powered(100, 0)], NOW)
    meter.take([powered(100, 900)], NOW + seconds(2), {"GPU-0": 3})
    assert meter.joules == 300


def test_what_ended_while_nobody_looked_pays_no_more_than_its_own_time_allows() -> None:
    meter = Meter.of(Meter.begin([powered(100, 0)], NOW).to_document())
    meter.settle(NOW + seconds(10), [powered(100, 2_000_000)], NOW + seconds(9000))
    assert (meter.joules, meter.assumed_seconds) == (7000, 0), "others have used the device since"
    other = Meter.of(Meter.begin([powered(100, 0)], NOW).to_document())
    other.settle(NOW + seconds(10), [powered(100, 1200)], NOW + seconds(9000))
    assert other.joules == 1200


@given(
    st.lists(
        st.tuples(st.floats(0.1, 30), st.none() | st.floats(0, 700), st.booleans()),
        max_size=8,
    ),
    st.booleans(),
)
def test_it_is_never_more_than_the_limit_allows_as_long_as_devices_keep_to_it(
    samples: list[tuple[float, float | None, bool]], counts: bool
) -> None:
    at, energy = NOW, 0.0
    meter = Meter.begin([powered(350, 0.0 if counts else None)], NOW)
    for pause, power, answers in samples:
        at, energy = at + seconds(pause), energy + pause * (power or 0)
        meter.take([powered(power, energy if counts else None, responding=answers)], at, {})
        meter = Meter.of(meter.to_document())
    meter.settle(at + seconds(1))
    allowed = 700 * (at + seconds(1) - NOW).total_seconds()
    assert 0 <= meter.joules <= allowed * 1.000001
