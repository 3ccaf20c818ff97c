"""What people may write for amounts, shares, durations and kinds."""

from datetime import timedelta
from decimal import Decimal

import click
import pytest

from nodus_tui.cli.options import AmountType, DurationType, ShareType
from nodus_tui.cli.targets import kind_of, split_target


@pytest.mark.parametrize(("text", "share"), [("0.8", 0.8), ("80%", 0.8), ("1", 1.0), ("0", 0.0)])
def test_shares(text: str, share: float) -> None:
    assert ShareType().convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize("text", ["80", "-0.1", "nan", "inf", "many", "101%", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError):
        ShareType().convert(text, None, None)


@pytest.mark.parametrize(("text", "amount"), [("0.20", "0.20"), ("$3", "3"), ("0.000000001", "0.000000001")])
def test_amounts(text: str, amount: str) -> None:
    assert AmountType().convert(text, None, None) == Decimal(amount)


@pytest.mark.parametrize("text", ["0", "-1", "1e3", "0.0000000001", "ten", "$$1", "NaN", "1,000"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError):
        AmountType().convert(text, None, None)


def test_durations() -> None:
    assert DurationType().convert("90s", None, None) == timedelta(seconds=90)
    with pytest.raises(click.UsageError, match="90s, 10m or 24h"):
        DurationType().convert("10", None, None)


@pytest.mark.parametrize(("word", "kind"), [("ag", "AgentGroup"), ("runs", "AgentRun"), ("env", "Environment"), ("AgentRun", "AgentRun")])
def test_kinds_by_their_names(word: str, kind: str) -> None:
    assert kind_of(word) == kind


def test_a_misspelt_kind_names_the_nearest() -> None:
    with pytest.raises(click.UsageError, match="did you mean groups"):
        kind_of("grops")


def test_a_name_may_hold_a_slash() -> None:
    assert split_target("env/nodus/arithmetic-v2") == ("Environment", "nodus/arithmetic-v2")
