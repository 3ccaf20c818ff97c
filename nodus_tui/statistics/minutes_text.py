"""Estimated minutes as people grasp them, the same for the console and the command line. Pure; plain text, no markup."""

from decimal import Decimal

_EASY_MINUTES = 120
"""Minutes up to which nobody reckons in hours."""


def beside_minutes(minutes: Decimal) -> str:
    """What stands beside minutes that are hard to grasp: ` (24 h)`, ` (16 h 40 min)`, ` (3 s)`; empty from one minute to two hours."""
    if minutes < 1:
        seconds = round(minutes * 60)
        return f" ({seconds} s)" if seconds else " (under 1 s)"
    if minutes <= _EASY_MINUTES:
        return ""
    hours, rest = divmod(round(minutes), 60)
    return f" ({hours:,} h {rest} min)" if rest else f" ({hours:,} h)"
