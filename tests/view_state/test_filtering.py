"""The filter: words, states, verdicts, costs, and their opposites."""

from decimal import Decimal

import pytest

from nodus_tui.view_state.filtering import Searchable, parse_filter

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
