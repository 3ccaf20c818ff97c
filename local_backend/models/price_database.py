"""List prices from the genai-prices database: which of its entries a model has, and what they say at the time of asking.

The database is imported when the first price is asked for: it is large.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from local_backend.models.prices import PriceSteps, ResolvedPrice
from nodus_tui.contract.money import nano_ceiling

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

_UNCOUNTED = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok", "input_mchars")
"""Fees that go by something else than the tokens of input and output. A model with one of them is refused rather than priced too low."""

_LOOK_AHEAD = timedelta(hours=48)
_LOOK_STEP = timedelta(minutes=30)
"""A price that depends on the date or the time of day is looked up this far ahead, this often; the dearest of what is found counts."""


class PriceUnknownError(Exception):
    """The database cannot price the model; the text is the middle of a sentence that says why."""


def database_price(model: str, *, provider: str, base_url: str | None, now: datetime | None = None) -> ResolvedPrice:
    """The list price of a model, by the name that is asked for.

    With a base URL, the provider is the one whose public address it is: a server of one's own is never priced by the name it gives its
    model. Raises PriceUnknownError.
    """
    from genai_prices import __version__, data_snapshot  # noqa: PLC0415 - large, and not needed where every price is configured

    try:
        _, info = data_snapshot.get_snapshot().find_provider_model(
            model, None, provider if base_url is None else None, base_url if base_url is not None else None
        )
    except LookupError:
        where = f" at {base_url}" if base_url is not None else f" of {provider}"
        raise PriceUnknownError(f'the price database (genai-prices {__version__}) does not know "{model}"{where}') from None
    found = _prices_ahead(info, now or datetime.now(UTC))
    if any(getattr(price, key) is not None for price in found for key in _UNCOUNTED):
        raise PriceUnknownError(f'the list price of "{model}" has fees that are not counted by tokens')
    if any(price.input_mtok is None or price.output_mtok is None for price in found):
        raise PriceUnknownError(f'the price database (genai-prices {__version__}) has no price for input and output of "{model}"')
    return ResolvedPrice(
        input=_dearest(found, "input_mtok"),
        output=_dearest(found, "output_mtok"),
        cached_input=_dearest(found, "cache_read_mtok"),
        cache_write=_dearest(found, "cache_write_mtok"),
        source=f"genai-prices {__version__}",
    )


def _prices_ahead(info: ModelInfo, now: datetime) -> list[ModelPrice]:
    """Every price that applies at some moment from now on, within the look-ahead."""
    moments = (now + _LOOK_STEP * step for step in range(_LOOK_AHEAD // _LOOK_STEP + 1))
    return list({id(price): price for price in map(info.get_prices, moments)}.values())


def _dearest(found: list[ModelPrice], key: str) -> PriceSteps:
    """The highest of several prices at every size of input. A kind of input without its own price costs as much as plain input."""
    each = [_steps(price, key) for price in found]
    starts = sorted({above for steps in each for above, _ in steps.steps})
    return PriceSteps(tuple((start, max(steps.at(start + 1) for steps in each)) for start in starts))


def _steps(price: ModelPrice, key: str) -> PriceSteps:
    value = getattr(price, key)
    if value is None:
        value = price.input_mtok
    if isinstance(value, Decimal):
        return PriceSteps.flat(value)
    return PriceSteps(((-1, nano_ceiling(value.base)), *((tier.start, nano_ceiling(tier.price)) for tier in value.tiers)))
