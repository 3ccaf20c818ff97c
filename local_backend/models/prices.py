"""What a model costs: prices by the million tokens, the worst case of a call before it is sent, and its cost once its usage is known. Pure.

Prices are kept as whole nano-dollars a million tokens, so that all arithmetic is on integers and a charge is rounded once, upwards.
"""

from decimal import Decimal
from typing import Self

from msgspec import Struct

from local_backend.models.wire import Usage
from nodus_tui.contract.configuration import TokenPrice
from nodus_tui.contract.money import display_usd, nano_ceiling, usd_from_nano

_TOKENS_PER_PRICE = 1_000_000


class PriceSteps(Struct, frozen=True):
    """One price that may depend on how large the whole input is.

    Each step is (tokens, nano-dollars a million tokens): the last step whose tokens the input is *above* applies to all tokens of the call,
    as providers bill long prompts. The first step starts below zero tokens, so one always applies.
    """

    steps: tuple[tuple[int, int], ...]

    @classmethod
    def flat(cls, price: Decimal) -> Self:
        """A price in US dollars a million tokens that is the same for every size."""
        return cls(((-1, nano_ceiling(price)),))

    @property
    def base(self) -> Decimal:
        """US dollars a million tokens for a short input."""
        return usd_from_nano(self.steps[0][1])

    def at(self, input_tokens: int) -> int:
        """The price that applies to an input of exactly this size."""
        price = self.steps[0][1]
        for above, step in self.steps:
            if input_tokens > above:
                price = step
        return price

    def dearest_up_to(self, input_bound: int) -> int:
        """The highest price that can apply to an input of this size or any smaller one."""
        return max(step for above, step in self.steps if above < max(input_bound, 0))


class ResolvedPrice(Struct, frozen=True):
    """The prices of one model, and where they come from."""

    input: PriceSteps
    output: PriceSteps
    cached_input: PriceSteps
    cache_write: PriceSteps
    source: str
    """For people: `genai-prices 0.2.3`, `your configuration`, `free (your configuration)`, `notional (your configuration)`,
    `notional (built in)`, `simulated`.
    """
    notional: bool = False
    """Made up: nobody pays it."""

    @property
    def free(self) -> bool:
        """Whether no call can cost anything."""
        return not any(price for part in self._parts() for _, price in part.steps)

    def words(self) -> str:
        """For people: `$0.80 in, $4.00 out a million tokens`, or `free`."""
        if self.free:
            return "free"
        text = f"{display_usd(self.input.base)} in, {display_usd(self.output.base)} out a million tokens"
        starts = sorted({above for part in self._parts() for above, _ in part.steps if above > 0})
        return f"{text}, more above {starts[0]:,} input tokens" if starts else text

    def worst_case_nano(self, input_bound: int, max_tokens: int) -> int:
        """Nano-dollars that a call can cost at most, rounded up.

        `input_bound` tokens of input at the dearest of its prices (plain, cached, cache write) and `max_tokens` of output, each at the
        dearest step that an input up to the bound can reach.
        """
        dearest_input = max(part.dearest_up_to(input_bound) for part in (self.input, self.cached_input, self.cache_write))
        return _nano(input_bound * dearest_input + max_tokens * self.output.dearest_up_to(input_bound))

    def cost_nano(self, usage: Usage) -> int:
        """Nano-dollars that a call cost, rounded up. The size of the whole input decides which step applies."""
        size = usage.input_tokens
        cached = min(usage.cached_input_tokens, size)
        written = min(usage.cache_write_tokens, size - cached)
        return _nano(
            (size - cached - written) * self.input.at(size)
            + cached * self.cached_input.at(size)
            + written * self.cache_write.at(size)
            + usage.output_tokens * self.output.at(size)
        )

    def _parts(self) -> tuple[PriceSteps, ...]:
        return (self.input, self.output, self.cached_input, self.cache_write)


def _nano(price_times_tokens: int) -> int:
    return -(-price_times_tokens // _TOKENS_PER_PRICE)


def free_price(source: str) -> ResolvedPrice:
    """The price of a model that costs nothing."""
    zero = PriceSteps.flat(Decimal(0))
    return ResolvedPrice(input=zero, output=zero, cached_input=zero, cache_write=zero, source=source)


def configured_price(price: TokenPrice, *, notional: bool, built_in: bool = False) -> ResolvedPrice:
    """The price that the user wrote down, or that a model has which is `built_in`.

    Cached input and cache writes cost as much as other input where nothing else is said.
    """
    whole = PriceSteps.flat(price.input_per_m_tok)
    cached = price.cached_input_per_m_tok
    written = price.cache_write_per_m_tok
    whose = "built in" if built_in else "your configuration"
    return ResolvedPrice(
        input=whole,
        output=PriceSteps.flat(price.output_per_m_tok),
        cached_input=whole if cached is None else PriceSteps.flat(cached),
        cache_write=whole if written is None else PriceSteps.flat(written),
        source=f"notional ({whose})" if notional else whose,
        notional=notional,
    )
