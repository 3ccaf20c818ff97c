"""Money: US dollars as exact decimals in the contract, whole nano-dollars in the ledger, text at the edge. Never a float."""

import re
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from nodus_tui.contract.wording import quoted

NANO_PER_USD = 1_000_000_000
"""The ledger's unit: one US dollar is this many nano-dollars."""

MAX_USD = Decimal(1_000_000_000)
"""The largest amount that a spec may name, far below what 64 bits of nano-dollars hold."""

_PLAIN = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,100}))?")
_PATTERN = r"^[0-9]{1,10}(\.[0-9]{1,9}0*)?$"
_POSITIVE_PATTERN = r"^(?=.*[1-9])[0-9]{1,10}(\.[0-9]{1,9}0*)?$"


def parse_usd(text: str) -> Decimal:
    """The amount that a decimal string such as `"0.10"` names.

    Raises ValueError with a sentence for the reader when it is no plain decimal, is finer than a nano-dollar or too large.
    """
    match = _PLAIN.fullmatch(text)
    if match is None:
        raise ValueError(f'{quoted(text)} is not an amount in US dollars: write digits and at most one point, such as "0.10"')
    # The digits are counted in the text: arithmetic would first round to the decimal context's precision.
    if len((match[2] or "").rstrip("0")) > 9:
        raise ValueError(f"{text} has a fraction of a nano-dollar: at most nine digits after the point")
    amount = Decimal(text)
    if amount > MAX_USD:
        raise ValueError(f"{text} is more than {MAX_USD:,} US dollars")
    return amount


def nano_from_usd(amount: Decimal) -> int:
    """Whole nano-dollars of an exact amount; raises ValueError when the amount is finer than that."""
    numerator, denominator = amount.as_integer_ratio()
    nano, rest = divmod(numerator * NANO_PER_USD, denominator)
    if rest:
        raise ValueError(f"{amount} has a fraction of a nano-dollar")
    return nano


def nano_ceiling(amount: Decimal) -> int:
    """Nano-dollars of a charge, rounded up, as every charge is when it is booked (semantics: Money)."""
    numerator, denominator = amount.as_integer_ratio()
    return -(-numerator * NANO_PER_USD // denominator)


def usd_from_nano(nano: int) -> Decimal:
    """The exact amount of so many nano-dollars."""
    return Decimal(nano).scaleb(-9)


def usd_text(amount: Decimal) -> str:
    """The canonical machine text: exact, at least two digits after the point, no exponent: `0.10`, `0.0075`."""
    text = f"{amount:f}"
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')}"


def exact_usd(amount: Decimal) -> str:
    """The text for people of an amount that they compare with another or type: `$0.0745`, with every digit."""
    return f"${usd_text(amount)}"


def cap_text(amount: Decimal) -> str:
    """A cap or a limit, for people who agreed to it: `$1,000.00`, `$0.0132`, with every digit wherever it stands."""
    whole, _, fraction = f"{amount:,f}".partition(".")
    return f"${whole}.{fraction.rstrip('0').ljust(2, '0')}"


def enough_usd(amount: Decimal) -> Decimal:
    """What a cap that must hold so much is told to be, everywhere: rounded up to a hundredth of a cent, so never too little."""
    return amount.quantize(Decimal("0.0001"), rounding=ROUND_CEILING)


def enough_text(amount: Decimal) -> str:
    """The same for people: `$0.0745` for 0.07441."""
    return exact_usd(enough_usd(amount))


def display_usd(amount: Decimal) -> str:
    """The text for people: `$0.13`, rounded half up to the cent, or to two significant digits when less than ten cents need more.

    An amount of zero is `$0.00`; a non-zero amount never shows as zero.
    """
    sign = "-" if amount < 0 else ""
    magnitude = abs(amount)
    digits = 2
    if 0 < magnitude < Decimal("0.1"):
        digits = min(9, max(2, -magnitude.adjusted() + 1))
    rounded = magnitude.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    text = f"{rounded:,f}"
    whole, _, fraction = text.partition(".")
    return f"{sign}${whole}.{fraction.rstrip('0').ljust(2, '0')}"


def cent_text(amount: Decimal) -> str:
    """An amount rounded half up to the cent as machine text: `7.17`; a small non-zero amount keeps the digits it needs."""
    return display_usd(amount).replace("$", "").replace(",", "")


def _from_outside(value: Any) -> Any:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise PydanticCustomError("money_type", "the amount is not a number")
        return value
    if isinstance(value, str):
        return parse_usd(value)
    raise PydanticCustomError("money_type", 'money is a decimal text in quotes, such as "0.10"')


def _above_zero(amount: Decimal) -> Decimal:
    if amount <= 0:
        raise ValueError("the amount must be above zero")
    if amount > MAX_USD:
        raise ValueError(f"{usd_text(amount)} is more than {MAX_USD:,} US dollars")
    nano_from_usd(amount)
    return amount


USD = Annotated[
    Decimal,
    BeforeValidator(_from_outside),
    PlainSerializer(usd_text, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": _PATTERN, "examples": ["0.10"], "description": "US dollars as a decimal string"}),
]
"""An amount in US dollars: a decimal string outside, an exact Decimal inside."""

PositiveUSD = Annotated[
    USD,
    AfterValidator(_above_zero),
    WithJsonSchema(
        {"type": "string", "pattern": _POSITIVE_PATTERN, "examples": ["0.10"], "description": "US dollars above zero as a decimal string"}
    ),
]
"""An amount above zero: every cap and limit is one."""
