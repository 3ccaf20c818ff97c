"""Money: exact text and back, nano-dollars, display."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from nodus_tui.contract.money import (
    MAX_USD,
    NANO_PER_USD,
    USD,
    PositiveUSD,
    cap_text,
    cent_text,
    display_usd,
    enough_text,
    enough_usd,
    nano_ceiling,
    nano_from_usd,
    parse_usd,
    usd_from_nano,
    usd_text,
)

NANOS = st.integers(min_value=0, max_value=int(MAX_USD) * NANO_PER_USD)


@given(NANOS)
def test_text_and_nano_dollars_go_round_without_loss(nano):
    amount = usd_from_nano(nano)
    assert Fraction(amount) == Fraction(nano, NANO_PER_USD)
    text = usd_text(amount)
    assert "E" not in text
    assert len(text.partition(".")[2]) >= 2
    assert parse_usd(text) == amount
    assert nano_from_usd(parse_usd(text)) == nano
    assert nano_ceiling(amount) == nano


@given(st.integers(min_value=0, max_value=10**40), st.integers(min_value=0, max_value=30))
def test_a_charge_is_rounded_up_to_the_nano_dollar(digits, places):
    exact = Fraction(digits, 10**places)
    amount = Decimal(digits).as_tuple()
    charge = nano_ceiling(Decimal((0, amount.digits, -places)))
    assert charge >= exact * NANO_PER_USD
    assert charge - exact * NANO_PER_USD < 1


@given(st.integers(min_value=1, max_value=10**9), st.integers(min_value=10, max_value=60))
def test_a_fraction_of_a_nano_dollar_is_refused_however_many_digits_it_has(last, places):
    text = f"0.{'1' * (places - 10)}{last:010d}1"
    with pytest.raises(ValueError, match="fraction of a nano-dollar"):
        parse_usd(text)


def test_zeros_after_the_ninth_digit_are_no_fraction():
    assert parse_usd("0.10000000000000") == Decimal("0.1")


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.", ".5", "1e3", "1,000", "0x1", " 1", "1 ", "NaN", "inf", "1_0", "１", "1" * 11, "$1"])
def test_what_is_no_plain_decimal_is_refused(text):
    with pytest.raises(ValueError, match="is not an amount in US dollars"):
        parse_usd(text)


def test_more_than_the_largest_amount_is_refused():
    assert parse_usd("1000000000") == MAX_USD
    with pytest.raises(ValueError, match="more than 1,000,000,000"):
        parse_usd("1000000000.01")


def test_a_message_shows_control_characters_instead_of_sending_them():
    with pytest.raises(ValueError, match="not an amount") as caught:
        parse_usd("1\x1b[2J")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("value", [1, 1.5, True, None, Decimal("NaN"), Decimal("Infinity"), b"1"])
def test_only_text_and_decimals_are_money(value):
    with pytest.raises(ValidationError):
        TypeAdapter(USD).validate_python(value)


@pytest.mark.parametrize("value", ["0", "0.00", Decimal(0), Decimal(-1), Decimal("1E-10"), Decimal(10) ** 10])
def test_a_cap_is_above_zero_and_a_whole_number_of_nano_dollars(value):
    with pytest.raises(ValidationError):
        TypeAdapter(PositiveUSD).validate_python(value)


def test_a_cap_may_be_one_nano_dollar():
    assert TypeAdapter(PositiveUSD).validate_python("0.000000001") == Decimal("1E-9")


@given(st.integers(min_value=1, max_value=10**18))
def test_a_cap_that_is_told_to_be_enough_is_enough(nano):
    needed = usd_from_nano(nano)
    told = parse_usd(enough_text(needed).removeprefix("$"))
    assert 0 <= told - needed < Decimal("0.0001")
    assert enough_usd(told) == told


@given(st.integers(min_value=NANO_PER_USD // 10, max_value=10**18))
def test_display_rounds_half_up_to_the_cent(nano):
    amount = usd_from_nano(nano)
    expected = amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    assert display_usd(amount) == f"${expected:,f}"
    assert Decimal(cent_text(amount)) == expected
    assert display_usd(-amount) == f"-${expected:,f}"


@given(st.integers(min_value=1, max_value=NANO_PER_USD // 10 - 1))
def test_a_small_amount_keeps_two_significant_digits_and_never_shows_as_zero(nano):
    amount = usd_from_nano(nano)
    shown = Decimal(display_usd(amount).removeprefix("$"))
    assert shown > 0
    assert abs(shown - amount) / amount <= Decimal("0.05")


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0.00"),
        ("0.125", "$0.13"),
        ("7.165", "$7.17"),
        ("43.335", "$43.34"),
        ("0.0075", "$0.0075"),
        ("0.05", "$0.05"),
        ("0.0999", "$0.10"),
        ("1234567.891", "$1,234,567.89"),
        ("0.000000001", "$0.000000001"),
    ],
)
def test_display_of_known_amounts(amount, shown):
    assert display_usd(Decimal(amount)) == shown


@pytest.mark.parametrize(("amount", "shown"), [("0.0132", "$0.0132"), ("1000", "$1,000.00"), ("0.125", "$0.125"), ("1E+3", "$1,000.00")])
def test_a_cap_is_told_with_every_digit(amount, shown):
    assert cap_text(Decimal(amount)) == shown
