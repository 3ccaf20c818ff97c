"""Broken lines keep their words, tones and indents; what is left out is told by …, behind a whole word."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.cli.verbs.estimate import estimate_text
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, line_width, muted, plain
from nodus_tui.view_state.estimates import Basis, estimate_lines
from nodus_tui.view_state.spec_checks import cost_line
from nodus_tui.view_state.wrapping import clipped, flowed, indent_of, wrapped


def texts(lines: tuple[Line, ...]) -> list[str]:
    return [plain(each) for each in lines]


@pytest.mark.parametrize(
    ("spans", "indent"),
    [
        (line("words only"), 0),
        (line("  two cells in"), 2),
        (line(" ! a notice"), 3),
        (line(Span("‖ a reason", Tone.WARN)), 2),
        (line(muted("money  "), "a label before"), 7),
        (line("a word of one letter"), 0),
        ((), 0),
    ],
)
def test_what_goes_on_below_is_indented_as_the_line_began(spans: Line, indent: int) -> None:
    assert indent_of(spans) == indent


def test_a_wrapped_line_keeps_its_indent() -> None:
    assert texts(wrapped((line("  ! the timeout is shorter than the estimate"),), 24)) == [
        "  ! the timeout is",
        "    shorter than the",
        "    estimate",
    ]


def test_facts_are_parted_where_their_separators_stand() -> None:
    facts = joined((line("simulated"), line("ended 14:00"), line("agent solver r1"), line("20 tasks, seed 7")))
    assert texts(wrapped((facts,), 44)) == ["simulated · ended 14:00 · agent solver r1", "20 tasks, seed 7"]
    assert texts(clipped((facts,), 44, 1)) == ["simulated · ended 14:00 · agent solver r1 …"]
    labelled = (muted("cost     "), *facts)
    assert texts(wrapped((labelled,), 34)) == ["cost     simulated · ended 14:00", "         agent solver r1", "         20 tasks, seed 7"]


def test_a_sentence_among_facts_goes_on_behind_them() -> None:
    facts = joined((line("its own cap"), line("a cap of $0.0823 lets it go on"), line("now")))
    assert texts(wrapped((facts,), 30)) == ["its own cap · a cap of $0.0823", "lets it go on · now"]


@given(st.lists(st.text(st.sampled_from("ab 1.$"), min_size=1, max_size=40), max_size=6), st.integers(4, 30), st.booleans())
def test_no_word_of_a_fact_is_lost_and_no_line_too_wide(parts: list[str], width: int, labelled: bool) -> None:
    facts = joined(line(part) for part in parts)
    made = wrapped(((muted("it  "), *facts) if labelled else facts,), width)
    assert all(line_width(each) <= width for each in made)
    said = "".join("".join(texts(made)).split()).replace("·", "")
    assert said == "".join(("it " * labelled + "".join(parts)).split())


def test_what_is_left_out_is_told_behind_a_whole_word() -> None:
    sentence = line(Span("16 runs wait at their own caps: extend to at least $0.076 each", Tone.WARN))
    assert texts(clipped((sentence,), 24, 2)) == ["16 runs wait at their", "own caps: extend to at …"]
    assert texts(clipped((sentence,), 24, 3)) == ["16 runs wait at their", "own caps: extend to at", "least $0.076 each"]
    assert clipped((sentence,), 24, 0) == ()


@given(st.lists(st.text(st.sampled_from("ab 1.$"), max_size=40), max_size=4), st.integers(4, 30), st.integers(1, 4))
def test_clipped_lines_fit_and_are_not_too_many(parts: list[str], width: int, most: int) -> None:
    made = clipped(tuple(line(part) for part in parts), width, most)
    assert len(made) <= most
    assert all(line_width(each) <= width for each in made)


def estimate(minutes: str) -> Estimate:
    return Estimate(
        group="hello",
        agent="adder",
        cases=100,
        model_ceiling_usd=Decimal("10.00"),
        per_run_cap_usd=Decimal("0.10"),
        cap_usd=Decimal("10.00"),
        minutes_per_case=Decimal(minutes),
        sandbox_minutes=100 * Decimal(minutes),
        sandbox_usd={"CPU": Decimal("0.13")},
        wall_clock_minutes=4 * Decimal(minutes),
        wall_clock_by_max_active={"1": 100 * Decimal(minutes), "25": 4 * Decimal(minutes)},
        timeout_minutes=Decimal(30),
        fits_timeout=True,
        room_for_all=True,
        cases_sure_to_start=100,
        half_width95=0.098,
        simulated=False,
    )


def test_all_times_of_an_estimate_are_in_minutes_and_no_label_runs_into_its_figure() -> None:
    shown = "\n".join(texts(estimate_lines(estimate("10"))))
    assert "wall clock, est.  ~40 min" in shown
    assert "1 → 1,000   25 → 40   minutes" in shown
    assert "timeout           30 min" in shown
    assert "0.5 min (30 s) a case" in "\n".join(texts(estimate_lines(estimate("0.5"))))
    kind = KindEstimate(kind="Job", name="j", cap_usd=Decimal(1), ceiling_usd=Decimal(1), longest_seconds=Decimal(7200))
    assert "longest time      120 min" in "\n".join(texts(estimate_lines(kind)))


def test_a_time_that_nobody_measured_is_no_alarm() -> None:
    note = "At maxActive 25 and 10 min a case the 100 cases take 40 min, longer than the evaluation timeout of 30m."
    late = estimate("10").model_copy(update={"fits_timeout": False, "notes": (note,)})
    assumed = texts(estimate_lines(late, basis="assumed"))
    assert "at 10 min a case, assumed; m changes that" in "\n".join(assumed)
    assert not [row for row in assumed if "!" in row]
    assert "~ shorter than that, if the assumption holds" in "\n".join(assumed)
    assert "longer than" not in plain(cost_line((late,), "assumed"))
    assert plain(cost_line((late,), "assumed")).endswith(" min assumed")
    told: tuple[tuple[Basis, str], ...] = (("measured", "a case, measured here;"), ("chosen", "a case;"))
    for basis, words in told:
        shown = "\n".join(texts(estimate_lines(late, basis=basis)))
        assert words in shown
        assert "! longer than the timeout" in shown
        assert f"! {note}" in shown
    assert "! longer than the timeout" in plain(cost_line((late,), "measured"))


def test_an_estimate_tells_no_sandbox_time_of_runs_that_have_no_sandbox() -> None:
    bare = estimate("10").model_copy(update={"sandboxed": False})
    shown = "\n".join(texts(estimate_lines(bare)))
    assert "none  the agent has no tools" in shown
    assert "$0.13" not in shown
    assert "Sandbox cost" not in estimate_text(bare, assumed=True)
    assert "$0.13 on CPU" in estimate_text(estimate("10"), assumed=True)


def test_a_long_row_of_an_estimate_goes_on_below_its_figures() -> None:
    rows = texts(wrapped(estimate_lines(estimate("10")), 46))
    at = next(index for index, text in enumerate(rows) if text.startswith("  models, at most"))
    assert rows[at + 1].startswith(" " * 20)
    assert rows[at + 1].strip()


def test_room_for_all_is_not_told_where_no_run_could_make_a_call() -> None:
    waits = estimate("10").model_copy(update={"every_run_waits": True, "room_for_all": True})
    shown = "\n".join(texts(estimate_lines(waits)))
    assert "! no run could make a call: each would wait at its own cap" in shown
    assert "room for every case" not in shown
    assert "but none could make a call" in estimate_text(waits, assumed=False)
    assert "each run would wait at its own cap" in plain(cost_line((waits,)))


def test_items_flow_and_none_is_broken() -> None:
    items = [Span(text) for text in ("✓ Correct", "✗ Incorrect", "? Invalid", "! Infra fail")]
    assert [plain(each) for each in flowed(Span("verdicts  "), items, 33)] == [
        "verdicts  ✓ Correct  ✗ Incorrect",
        "          ? Invalid  ! Infra fail",
    ]
    assert [plain(each) for each in flowed(Span("verdicts  "), items[:2], 12)] == ["verdicts  ✓ Correct", "          ✗ Incorrect"]
