"""Money on the screen: what is spent, set aside and left of a cap, and amounts in as many digits as there is room for.

One meaning everywhere: spent is what models cost so far, going runs included; reserved is what is still set aside beyond it; left is
what nobody has claimed. The three add up to the cap.
"""

from decimal import ROUND_HALF_UP, Decimal

from msgspec import Struct

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent_group import GroupMoney
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted
from nodus_tui.view_state.figures import count_text, short_usd

_BELOW_A_CENT = "<$0.01"
_TEN_CENTS = Decimal("0.10")

UNCONFIRMED = Span("u ", Tone.MARK)
"""The mark before an amount of which a part is charged at its worst case: behind it, it would move the amount out of its column."""


class MoneyParts(Struct, frozen=True):
    """The parts of a group's cap."""

    spent: Decimal
    reserved: Decimal
    left: Decimal


def money_parts(money: GroupMoney) -> MoneyParts:
    """The contract's own parts count what going runs spent as reserved; here it is spent."""
    return MoneyParts(
        spent=money.model_usd,
        reserved=money.spent_usd + money.reserved_usd - money.model_usd,
        left=money.left_usd,
    )


def usd_forms(amount: Decimal) -> tuple[str, ...]:
    """An amount from its usual text to ever fewer digits: each is true, and none is a longer one cut off."""
    forms = [short_usd(amount)]
    if amount >= 100:
        dollars = int(amount.quantize(Decimal(1), rounding=ROUND_HALF_UP))
        forms += [f"${dollars:,}", f"${count_text(dollars)}"]
    elif 0 < amount < Decimal("0.01"):
        one_digit = amount.quantize(Decimal(1).scaleb(amount.adjusted()), rounding=ROUND_HALF_UP)
        forms += [short_usd(one_digit), _BELOW_A_CENT]
    return tuple(forms)


def usd_cell_forms(amount: Decimal, tone: Tone = Tone.PLAIN) -> tuple[Line, ...]:
    """An amount alone in a cell, in ever fewer digits."""
    return tuple(line(Span(form, tone)) for form in usd_forms(amount))


def money_of(amount: Decimal, cap: Decimal, *, unconfirmed: bool = False) -> Line:
    """An amount beside its cap; nearly used up is a warning."""
    mark = (UNCONFIRMED,) if unconfirmed else ()
    return line(*mark, Span(short_usd(amount), _tone(amount, cap)), muted(f"/{display_usd(cap)}"))


def shorter_money_of(amount: Decimal, cap: Decimal, *, unconfirmed: bool = False) -> tuple[Line, ...]:
    """The same where it does not fit: the cap goes first, then digits; the mark stays."""
    mark = (UNCONFIRMED,) if unconfirmed else ()
    return tuple((*mark, *form) for form in usd_cell_forms(amount, _tone(amount, cap)))


def money_beside_cap(amount: Decimal, cap: Decimal) -> tuple[Line, ...]:
    """An amount beside its cap where the cap is what matters: digits go first, and only then the cap."""
    tone = _tone(amount, cap)
    # Below a cent is no figure beside a cap of cents: it would read as if that were used up.
    forms = [form for form in usd_forms(amount) if form != _BELOW_A_CENT or cap >= _TEN_CENTS]
    if 0 < amount * 100 < cap:
        forms.append("<1%")
    beside = tuple(line(Span(form, tone), muted(f"/{display_usd(cap)}")) for form in forms)
    return (*beside, *usd_cell_forms(amount, tone))


def _tone(amount: Decimal, cap: Decimal) -> Tone:
    return Tone.WARN if cap > 0 and amount >= cap * Decimal("0.9") else Tone.PLAIN
