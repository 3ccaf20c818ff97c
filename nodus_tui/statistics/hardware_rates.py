"""The default price list of sandbox hardware, in US dollars an hour. Pure data; a user's configuration replaces entries by name."""

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

DEFAULT_RATES: Mapping[str, Decimal] = MappingProxyType(
    {
        "CPU": Decimal("0.0075"),
        "L4": Decimal("0.430"),
        "H100 SXM": Decimal("2.600"),
    }
)
"""By name of the hardware. `CPU` is a slice of 1 vCPU and 1 GiB; `L4` and `H100 SXM` are one whole GPU of that type."""


def rates_with(overrides: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """The default price list with the user's own rates in it (electricity, or zero, on their own workstation)."""
    return {**DEFAULT_RATES, **overrides}
