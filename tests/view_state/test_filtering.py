"""The filter: words, states, verdicts, costs, and their opposites."""

from contextlib import suppress
from decimal import Decimal

import pytest
from console_records import NOW, every_kind_of_run
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.view_state.cells import line, plain
from nodus_tui.view_state.columns import Column, Measure
from nodus_tui.view_state.filter_fields import fields_of
from nodus_tui.view_state.filtering import FilterError, Searchable, completed, filter_help, parse_filter
from nodus_tui.view_state.rows import Rows
from nodus_tui.view_state.run_columns import RUN_COLUMNS, searchable_run

ROW = Searchable(
    texts=("fleet-0007", "sum-007", "its own cap"), states=("Waiting", "MaxCostReached"), verdict="Incorrect", cost=Decimal("0.05")
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", True),
        ("sum", True),
        ("SUM-007 fleet", True),
        ("sum apples", False),
        ("!apples", True),
        ("!sum", False),
        ("state:wait", True),
        ("STATE:MaxCost", True),
        ("state:running", False),
        ("!state:running", True),
        ("verdict:incorrect", True),
        ("verdict:correct", False),
        ("verdict:none", False),
        ("cost>0.04", True),
        ("cost>0.05", False),
        ("cost>=0.05", True),
        ("cost<$0.06", True),
        ("cost=0.05", True),
        ("!cost>0.01", False),
        ("!", False),
        ("[/foo]", False),
    ],
)
def test_what_is_kept(text: str, kept: bool) -> None:
    assert parse_filter(text).keeps(ROW) is kept


@pytest.mark.parametrize(
    ("text", "word"), [("state:", "state:waiting"), ("verdict:", "verdict:incorrect"), ("cost>", "amount"), ("cost>cheap", "amount")]
)
def test_an_unfinished_condition_says_what_is_missing(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        parse_filter(text)


def test_no_verdict_can_be_asked_for() -> None:
    row = Searchable(texts=(), states=("Pending",), verdict="", cost=Decimal(0))
    assert parse_filter("verdict:none").keeps(row)
    assert not parse_filter("verdict:correct").keeps(row)


CALLS = 4
COLUMNS = (
    Column("task", "TASK", 5, lambda item, _now: line(item), lambda item: item, measure=Measure.TEXT),
    Column("calls", "CALLS", 5, lambda item, _now: line(item), lambda _item: CALLS, measure=Measure.COUNT),
    Column("time", "TIME", 5, lambda item, _now: line(item), lambda _item: 95.5, measure=Measure.SECONDS),
    Column("queued", "QUEUED", 5, lambda item, _now: line(item), lambda _item: None, measure=Measure.SECONDS),
    Column("share", "", 5, lambda item, _now: line(item), lambda _item: 0.25, measure=Measure.SHARE),
    Column("order", "ORDER", 5, lambda item, _now: line(item), lambda _item: 7),
)
FIELDS = fields_of(COLUMNS)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("task:um-0", True),
        ("task=sum-007", True),
        ("task=sum", False),
        ("task!=sum", True),
        ("!task:apples", True),
        ("task:apples,sum", True),
        ("calls>3", True),
        ("calls:4", True),
        ("calls:>3", True),
        ("calls!=4", False),
        ("calls=3,4", True),
        ("calls<4k", True),
        ("time>1m30s", True),
        ("time>=95.5", True),
        ("time<90s", False),
        ("queued>0", False),
        ("!queued>0", True),
        ("queued:none", True),
        ("time:none", False),
        ("share>20%", True),
        ("share>0.3", False),
        ("state:running,waiting", True),
        ("phase:wait reason:maxcost", True),
        ('"its own cap"', True),
        ('"own its"', False),
        ('!"own its"', True),
        ("not sum", False),
        ("not state:running sum", True),
        ("not !sum", True),
        ("not", False),
        ('text:"own cap"', True),
        ("python:3.12", False),
        ("verdict!=correct", True),
    ],
)
def test_columns_are_fields_too(text: str, kept: bool) -> None:
    assert parse_filter(text, FIELDS).keeps(ROW, "sum-007") is kept


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("sum stat:waiting", 5, "did you mean state"),
        ("xyz>1", 1, "there are"),
        ("calls>many", 7, "no number"),
        ("time>soon", 6, "no time"),
        ("share>big", 7, "no share"),
        ("task>sum", 6, "task is text"),
        ("calls>", 7, "calls>3"),
        ('sum "its own', 5, "not closed"),
        ("order>7", 1, "no field"),
    ],
)
def test_an_error_says_where_and_what_to_do(text: str, at: int, words: str) -> None:
    with pytest.raises(FilterError, match=words) as caught:
        parse_filter(text, FIELDS)
    assert caught.value.at == at
    assert str(caught.value).startswith(f"at {at}: ")


@given(st.text())
def test_whatever_is_typed_is_a_filter_or_a_sentence(text: str) -> None:
    with suppress(FilterError):
        parse_filter(text, FIELDS).keeps(ROW, "sum-007")


@pytest.mark.parametrize(
    ("text", "cursor", "whole", "names"),
    [
        ("cal", 3, "calls>", ("calls",)),
        ("x !ver", 6, "x !verdict:", ("verdict",)),
        ("t", 1, "t", ("task", "text", "time")),
        ("st cost>1", 2, "state: cost>1", ("state",)),
        ("zz", 2, "zz", ()),
        ("cost>1", 6, "cost>1", ()),
        ("", 0, "", ()),
    ],
)
def test_the_name_of_a_field_is_completed(text: str, cursor: int, whole: str, names: tuple[str, ...]) -> None:
    done, at, found = completed(text, cursor, FIELDS)
    assert (done, found) == (whole, names)
    assert at == cursor + len(done) - len(text)


def test_the_help_names_every_field_but_that_of_plain_words() -> None:
    assert all(name in filter_help(FIELDS) for name in FIELDS if name != "text")


@pytest.mark.parametrize("run", every_kind_of_run(), ids=lambda run: run.name)
def test_every_word_that_a_row_shows_finds_it(run: AgentRun) -> None:
    rows = Rows(RUN_COLUMNS, searchable=searchable_run)
    rows.put(run.name, run)
    shown = [plain(column.cell(run, NOW)) for column in RUN_COLUMNS if column.key in {"task", "phase", "verdict", "run"}]
    words = [word for word in " ".join(shown).split() if len(word) > 1]
    assert words
    for word in words:
        rows.filter(parse_filter(word.lower(), rows.fields))
        assert len(rows) == 1, word
        rows.filter(parse_filter(f"!{word.lower()}", rows.fields))
        assert len(rows) == 0, word


def test_what_a_run_waits_for_is_found_as_it_is_told_and_other_words_are_not() -> None:
    rows = Rows(RUN_COLUMNS, searchable=searchable_run)
    for each in every_kind_of_run():
        rows.put(each.name, each)
    for text, count in (
        ('"the rate limit"', 1),
        ("rate-limit", 1),
        ('"its own cap"', 1),
        ("incorrect", 1),
        ("nobody", 0),
        ("text:rate-limit", 1),
    ):
        rows.filter(parse_filter(text, rows.fields))
        assert len(rows) == count, text
