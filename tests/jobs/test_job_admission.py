from hypothesis import given
from hypothesis import strategies as st

from local_backend.jobs.admission import Machine, Share, impossible, queue

CPUS = st.floats(min_value=0.25, max_value=8)
MACHINE = Machine(8, 16.0)


@given(
    running=st.lists(st.tuples(CPUS, CPUS), max_size=3),
    waiting=st.lists(st.tuples(CPUS, st.floats(min_value=0.5, max_value=16)), max_size=8),
)
def test_what_starts_fits_beside_what_runs_and_none_overtakes_another(
    running: list[tuple[float, float]], waiting: list[tuple[float, float]]
) -> None:
    there = [Share(f"r{place}", *each) for place, each in enumerate(running)]
    asked = [Share(f"w{place}", *each) for place, each in enumerate(waiting)]
    told = queue(asked, there, MACHINE)
    starts = [each for each in asked if not told[each.name]]
    assert starts == asked[: len(starts)]
    if starts and len(there) + len(starts) > 1:
        assert sum(each.cpus for each in (*there, *starts)) <= MACHINE.cpus + 1e-6
        assert sum(each.memory_gib for each in (*there, *starts)) <= MACHINE.memory_gib + 1e-6
    if asked and not there:
        assert not told[asked[0].name]


def test_what_is_waited_for_is_told() -> None:
    running = [Share("first", 6, 4)]
    told = queue([Share("wide", 4, 1), Share("small", 1, 1)], running, MACHINE)
    assert told == {"wide": "waits for 4 CPUs; 2 of 8 are free beside first", "small": "waits for wide to start"}
    told = queue([Share("big", 1, 14)], running, MACHINE)
    assert told == {"big": "waits for 14 GiB of memory; 12.0 of 16.0 GiB are free beside first"}


def test_what_can_never_start_is_known_before() -> None:
    assert impossible(Share("x", 9, 1), MACHINE) == "it asks for 9 CPUs, and this machine has 8"
    assert "20 GiB" in impossible(Share("x", 1, 20), MACHINE)
    assert impossible(Share("x", 8, 16), MACHINE) == ""
