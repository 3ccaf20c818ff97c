"""Who gets which device, what the others wait for, and that nobody is passed by: in examples, and over whatever may happen."""

import pytest
from device_records import H100, L4, NOW, allocator, device, gets, later, named, request, waits
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from local_backend.devices.allocation import Allocator, Elsewhere, Offer, Request, Seen, Waits, refusal
from local_backend.devices.inventory import GIB
from nodus_tui.values import replace


def test_the_first_name_that_is_free_is_given_and_all_of_one_kind() -> None:
    given = allocator(device(0), device(1, L4, gib=24), device(2, L4, gib=24))
    assert gets(given, request("a", "H100", "L4", count=2)).uuids == ("GPU-1", "GPU-2")
    assert gets(given, request("b", "H100", "L4")).uuids == ("GPU-0",)


def test_the_smallest_that_is_large_enough_is_given() -> None:
    given = allocator(device(0, gib=94), device(1, gib=80), device(2, gib=64))
    assert gets(given, request("a", memory_bytes=70 * GIB)).uuids == ("GPU-1",)
    assert gets(given, request("b")).uuids == ("GPU-2",)
    assert gets(given, request("c", memory_bytes=70 * GIB)).uuids == ("GPU-0",)


def test_the_sentence_says_who_has_them_and_until_when() -> None:
    given = allocator(device(0), device(1))
    gets(given, request("train"))
    gets(given, replace(request("run/hello-3"), who="run hello-3"))
    given.expect("train", later(20), "About")
    given.expect("run/hello-3", later(60), "AtLatest")
    told = waits(given, request("next"))
    assert (told.message, told.until, told.until_kind) == (
        "waits for 1 × H100; 2 busy with job train and run hello-3",
        later(20),
        "About",
    )
    two = waits(given, request("both", count=2))
    assert two == Waits("waits for 2 × H100; 2 busy with job train and run hello-3; behind job next")
    given.withdraw("next")
    assert (waits(given, request("both", count=2)).until, waits(given, request("both", count=2)).until_kind) == (later(60), "AtLatest")


def test_without_an_end_that_is_known_no_time_is_told() -> None:
    given = allocator(device(0))
    gets(given, request("train"))
    assert waits(given, request("next")) == Waits("waits for 1 × H100; 1 busy with job train")


def test_strangers_other_workspaces_and_silent_devices_are_told_and_left_alone() -> None:
    given = allocator(
        Seen(device(0), strangers=("python (ann)",)),
        Seen(device(1), elsewhere=Elsewhere("bob")),
        device(2, responding=False),
        Seen(device(3), elsewhere=Elsewhere(shares=1)),
    )
    assert waits(given, request("a")).message == (
        "waits for 1 × H100; 1 in use by others: python (ann); 2 in use by another workspace of bob; 1 does not answer"
    )
    assert gets(given, request("b", shared=True)).uuids == ("GPU-3",)


def test_a_device_that_is_gone_is_waited_for() -> None:
    assert waits(allocator(device(0, L4)), request("a")).message == "waits for 1 × H100; none is here any more"


def test_sharers_meet_on_one_device_up_to_the_number_of_places() -> None:
    given = allocator(device(0), device(1), most_sharers=2)
    assert [gets(given, request(name, shared=True)).uuids for name in "abc"] == [("GPU-0",), ("GPU-0",), ("GPU-1",)]
    assert waits(given, request("alone")).message == "waits for 1 × H100; 2 busy with job a, job b and job c"
    given.withdraw("alone")
    assert gets(given, request("d", shared=True)).uuids == ("GPU-1",)
    given.expect("d", later(5), "AtLatest")
    told = waits(given, request("e", shared=True))
    assert told.message == "waits for a place on 1 × H100; all 2 places of 2 taken by job a, job b, job c and 1 more"
    assert told.until == later(5)


def test_places_that_are_taken_elsewhere_count() -> None:
    given = allocator(Seen(device(0), elsewhere=Elsewhere(shares=1)), most_sharers=2)
    gets(given, request("a", shared=True))
    assert isinstance(given.ask(request("b", shared=True)), Waits)


def test_nobody_who_came_later_is_given_what_somebody_waits_for() -> None:
    given = allocator(device(0), device(1), device(2, L4, gib=24))
    gets(given, request("a"))
    assert waits(given, request("two", count=2)).message == "waits for 2 × H100; 1 free; 1 busy with job a"
    assert waits(given, request("late")).message == "waits for 1 × H100; 1 busy with job a; behind job two"
    assert gets(given, request("other", "L4")).uuids == ("GPU-2",), "what nobody waits for is given"
    given.release("a")
    assert isinstance(given.ask(request("late")), Waits), "also when it asks before the first one does"
    gets(given, request("two", count=2))


def test_who_waits_for_what_only_strangers_could_give_back_holds_up_nobody() -> None:
    given = allocator(Seen(device(0), strangers=("python (ann)",)), device(1))
    assert isinstance(given.ask(request("two", count=2)), Waits)
    gets(given, request("one"))
    given.see((Seen(device(0)), Seen(device(1))))
    assert isinstance(given.ask(request("two", count=2)), Waits)
    assert isinstance(given.ask(request("late")), Waits), "now the first one can be served, and is"


def test_somebody_who_waits_no_more_holds_up_nobody() -> None:
    given = allocator(device(0))
    gets(given, request("a"))
    waits(given, request("b"))
    waits(given, request("c"))
    given.release("a")
    given.withdraw("b")
    gets(given, request("c"))


def test_what_was_offered_and_is_not_free_any_more_cannot_be_taken() -> None:
    given = allocator(device(0))
    wanted = request("a")
    offer = given.ask(wanted)
    assert isinstance(offer, Offer)
    given.see((Seen(device(0), strangers=("python",)),))
    with pytest.raises(ValueError, match="not free"):
        given.take(wanted, offer, NOW)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (request("a"), ""),
        (request("a", count=2), ""),
        (request("a", "A100", "L4"), ""),
        (request("a", count=3), "it asks for 3 × H100, and this machine has 2 × NVIDIA H100 80GB HBM3"),
        (request("a", "A100"), "it asks for 1 × A100, and this machine has 2 × NVIDIA H100 80GB HBM3 and 1 × NVIDIA L4"),
        (
            request("a", count=2, memory_bytes=90 * GIB),
            "it asks for 2 × H100 with 90 GiB each, and the largest of this machine's has 80.0 GiB",
        ),
    ],
)
def test_what_this_machine_can_never_give_is_refused_with_what_is_here(wanted: Request, told: str) -> None:
    assert refusal(wanted, [device(0), device(1), device(2, L4, gib=24)], named) == told


def test_a_machine_without_devices_says_why() -> None:
    assert refusal(request("a"), [], named, ("no NVIDIA driver here",)) == (
        "it asks for 1 × H100, and this machine has no devices to give (no NVIDIA driver here)"
    )


NAMES = {H100: "H100", L4: "L4"}
SHARERS = 2


class Giving(RuleBasedStateMachine):
    """Devices come and go, are used by strangers and other workspaces; people ask, wait, take, give up and give back."""

    def __init__(self) -> None:
        super().__init__()
        self.given = Allocator(named, SHARERS)
        self.devices: dict[str, Seen] = {}
        self.wanted: dict[str, Request] = {}
        """Who waits, in order of asking."""
        self.count = 0

    @rule(number=st.integers(0, 4), name=st.sampled_from([H100, L4]), gib=st.sampled_from([24, 80]), state=st.integers(0, 9))
    def a_device_is_seen(self, number: int, name: str, gib: int, state: int) -> None:
        made = device(number, name, gib=gib, responding=state != 1)
        strangers = ("python (ann)",) if state == 2 else ()
        elsewhere = Elsewhere("bob") if state == 3 else Elsewhere(shares=1) if state == 4 else Elsewhere()
        self.devices[made.uuid] = Seen(made, strangers, elsewhere)
        self.given.see(self.devices.values())

    @rule(number=st.integers(0, 4))
    def a_device_is_gone(self, number: int) -> None:
        self.devices.pop(f"GPU-{number}", None)
        self.given.see(self.devices.values())

    @rule(
        names=st.lists(st.sampled_from(["H100", "L4"]), min_size=1, max_size=2, unique=True),
        count=st.integers(1, 3),
        gib=st.sampled_from([0, 60]),
        shared=st.booleans(),
    )
    def somebody_comes(self, names: list[str], count: int, gib: int, shared: bool) -> None:
        self.count += 1
        wanted = request(str(self.count), *names, count=count, memory_bytes=gib * GIB, shared=shared)
        self.wanted[wanted.key] = wanted
        self.ask(wanted)

    @precondition(lambda self: self.wanted)
    @rule(place=st.integers(0, 20))
    def somebody_asks_again(self, place: int) -> None:
        self.ask(list(self.wanted.values())[place % len(self.wanted)])

    @precondition(lambda self: self.wanted)
    @rule(place=st.integers(0, 20))
    def somebody_gives_up(self, place: int) -> None:
        key = list(self.wanted)[place % len(self.wanted)]
        del self.wanted[key]
        self.given.withdraw(key)

    @precondition(lambda self: self.given.claims)
    @rule(place=st.integers(0, 20))
    def somebody_gives_back(self, place: int) -> None:
        self.given.release(list(self.given.claims)[place % len(self.given.claims)])

    @precondition(lambda self: self.given.claims)
    @rule(place=st.integers(0, 20), minutes=st.none() | st.integers(1, 100))
    def an_end_is_expected(self, place: int, minutes: int | None) -> None:
        key = list(self.given.claims)[place % len(self.given.claims)]
        self.given.expect(key, None if minutes is None else later(minutes), "About")

    def ask(self, wanted: Request) -> None:
        found = self.given.ask(wanted)
        if isinstance(found, Waits):
            assert found.message.startswith("waits for ")
            assert "; " in found.message
            return
        self.check_offer(wanted, found)
        self.given.take(wanted, found, NOW)
        del self.wanted[wanted.key]

    def check_offer(self, wanted: Request, offer: Offer) -> None:
        """What is offered is what was asked for, is free, and is kept for nobody who came before and could have it."""
        found = [self.devices[uuid] for uuid in offer.uuids]
        assert len(set(offer.uuids)) == wanted.count
        assert {NAMES[each.device.name] for each in found} == {offer.hardware}
        assert offer.hardware in wanted.names
        for each in found:
            assert each.device.responding
            assert not each.strangers
            assert not each.elsewhere.alone
            assert wanted.shared or not each.elsewhere.shares
            assert (each.device.memory_bytes or 0) >= wanted.memory_bytes
        for earlier in self.wanted.values():
            if earlier.key == wanted.key:
                break
            for name in earlier.names:
                reach = {uuid for uuid, each in self.devices.items() if self.could_have(earlier, name, each)}
                assert len(reach) < earlier.count or not reach & set(offer.uuids), f"{wanted.key} overtakes {earlier.key}"

    def could_have(self, wanted: Request, name: str, each: Seen) -> bool:
        """Once the holders here have given it back."""
        fits = NAMES[each.device.name] == name and (each.device.memory_bytes or 0) >= wanted.memory_bytes
        free = each.device.responding and not each.strangers and not each.elsewhere.alone
        return fits and free and each.elsewhere.shares < (SHARERS if wanted.shared else 1)

    @invariant()
    def nobody_shares_without_wanting_to_and_never_too_many(self) -> None:
        for uuid in {uuid for claim in self.given.claims.values() for uuid in claim.uuids}:
            holders = self.given.holders(uuid)
            assert len(holders) == 1 or all(holder.shared for holder in holders)
            assert len(holders) <= SHARERS

    def teardown(self) -> None:
        """When everybody gives back what they have and nobody else comes, all who can ever be served are, the first one first."""
        for _ in range(2 * len(self.wanted) + 1):
            for key in list(self.given.claims):
                self.given.release(key)
            for wanted in list(self.wanted.values()):
                self.ask(wanted)
        for wanted in self.wanted.values():
            for name in wanted.names:
                reach = [each for each in self.devices.values() if self.could_have(wanted, name, each)]
                assert len(reach) < wanted.count, f"{wanted} starves"


TestGiving = Giving.TestCase
TestGiving.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
