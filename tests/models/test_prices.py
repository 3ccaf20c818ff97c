"""Prices: exact figures, the worst case as an upper bound of every cost, and what the price database gives."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage as DatabaseUsage
from genai_prices import __version__, calc_price, data_snapshot
from hypothesis import given
from hypothesis import strategies as st

from local_backend.models.default_families import DEFAULT_FAMILIES
from local_backend.models.price_database import PriceUnknownError, database_price
from local_backend.models.prices import PriceSteps, ResolvedPrice, configured_price, free_price
from local_backend.models.wire import Usage
from nodus_tui.contract.configuration import ModelEntry, TokenPrice

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def price(**fields: str) -> ResolvedPrice:
    given_fields = {"inputPerMTok": "0.80", "outputPerMTok": "4.00", **fields}
    return configured_price(TokenPrice.model_validate(given_fields), notional=False)


class TestConfiguredPrice:
    def test_cost_to_the_nano_dollar(self) -> None:
        assert price().cost_nano(Usage(1_000_000, 0)) == 800_000_000
        assert price().cost_nano(Usage(1234, 56)) == 1234 * 800 + 56 * 4000

    def test_cost_is_rounded_up_once(self) -> None:
        cheap = price(inputPerMTok="0.000000001", outputPerMTok="0.000000001")
        assert cheap.cost_nano(Usage(1, 1)) == 1
        assert cheap.cost_nano(Usage(500_000, 500_000)) == 1
        assert cheap.cost_nano(Usage(500_000, 500_001)) == 2
        assert cheap.cost_nano(Usage(0, 0)) == 0

    def test_cached_input_and_cache_writes_have_their_own_price(self) -> None:
        usage = Usage(input_tokens=100, output_tokens=0, cached_input_tokens=60, cache_write_tokens=30)
        assert price().cost_nano(usage) == 100 * 800
        own = price(cachedInputPerMTok="0.08", cacheWritePerMTok="1.00")
        assert own.cost_nano(usage) == 10 * 800 + 60 * 80 + 30 * 1000

    def test_worst_case_takes_the_dearest_kind_of_input(self) -> None:
        assert price().worst_case_nano(1000, 100) == 1000 * 800 + 100 * 4000
        assert price(cacheWritePerMTok="1.00").worst_case_nano(1000, 100) == 1000 * 1000 + 100 * 4000
        assert price(cachedInputPerMTok="2.00").worst_case_nano(1000, 100) == 1000 * 2000 + 100 * 4000

    def test_words_and_source(self) -> None:
        assert price().words() == "$0.80 in, $4.00 out a million tokens"
        assert price().source == "your configuration"
        notional = configured_price(TokenPrice.model_validate({"inputPerMTok": 1, "outputPerMTok": 2}), notional=True)
        assert (notional.source, notional.notional) == ("notional (your configuration)", True)

    def test_free(self) -> None:
        free = free_price("free (your configuration)")
        assert free.free
        assert free.words() == "free"
        assert free.worst_case_nano(10**6, 10**6) == free.cost_nano(Usage(10**6, 10**6)) == 0
        assert not price().free


def steps(base: int, *further: tuple[int, int]) -> PriceSteps:
    return PriceSteps(((-1, base), *further))


class TestSteps:
    def test_a_long_input_makes_all_tokens_dearer(self) -> None:
        part = steps(100, (200_000, 500))
        tiered = ResolvedPrice(input=part, output=steps(1000, (200_000, 2000)), cached_input=part, cache_write=part, source="")
        assert tiered.cost_nano(Usage(200_000, 10)) == -(-(200_000 * 100 + 10 * 1000) // 10**6)
        assert tiered.cost_nano(Usage(200_001, 10)) == -(-(200_001 * 500 + 10 * 2000) // 10**6)
        assert tiered.worst_case_nano(200_000, 10) == tiered.cost_nano(Usage(200_000, 10))
        assert tiered.worst_case_nano(200_001, 10) == tiered.cost_nano(Usage(200_001, 10))
        assert "more above 200,000 input tokens" in tiered.words()

    def test_a_price_that_falls_with_size_still_bounds_a_shorter_input(self) -> None:
        assert steps(500, (1000, 100)).dearest_up_to(5000) == 500


amounts = st.integers(0, 10**12)
part_prices = st.builds(
    lambda base, further: steps(base, *sorted(further.items())),
    amounts,
    st.dictionaries(st.integers(0, 3000), amounts, max_size=3),
)


@given(part_prices, part_prices, part_prices, part_prices, st.data())
def test_no_usage_within_the_bound_costs_more_than_the_worst_case(
    read: PriceSteps, wrote: PriceSteps, cached: PriceSteps, cache_write: PriceSteps, data: st.DataObject
) -> None:
    any_price = ResolvedPrice(input=read, output=wrote, cached_input=cached, cache_write=cache_write, source="")
    bound, most = data.draw(st.integers(0, 4000)), data.draw(st.integers(0, 4000))
    usage = Usage(
        input_tokens=data.draw(st.integers(0, bound)),
        output_tokens=data.draw(st.integers(0, most)),
        cached_input_tokens=data.draw(st.integers(0, 5000)),
        cache_write_tokens=data.draw(st.integers(0, 5000)),
    )
    cost = any_price.cost_nano(usage)
    assert isinstance(cost, int)
    assert 0 <= cost <= any_price.worst_case_nano(bound, most)


class TestDatabase:
    def test_agrees_with_the_databases_own_calculation(self) -> None:
        for name in ("claude-haiku-5-5", "claude-sonnet-4-5", "claude-opus-5-5"):
            for size in (10, 99_999, 100_001, 200_001, 900_000):
                usage = Usage(size, 777, cached_input_tokens=size // 3, cache_write_tokens=size // 5)
                theirs = calc_price(
                    DatabaseUsage(input_tokens=size, output_tokens=777, cache_read_tokens=size // 3, cache_write_tokens=size // 5),
                    name,
                    provider_id="anthropic",
                    genai_request_timestamp=NOW,
                ).total_price
                ours = database_price(name, provider="anthropic", base_url=None, now=NOW).cost_nano(usage)
                assert 0 <= ours - theirs * 10**9 < 1

    def test_names_itself_and_its_version(self) -> None:
        assert database_price("claude-opus-5-5", provider="anthropic", base_url=None, now=NOW).source == f"genai-prices {__version__}"

    @pytest.mark.parametrize("entry", [entry for entry in DEFAULT_FAMILIES if entry.price is None], ids=lambda entry: entry.family)
    def test_knows_every_default_family_by_its_exact_name(self, entry: ModelEntry) -> None:
        found = database_price(entry.name, provider=entry.provider, base_url=None, now=NOW)
        assert found.input.base > 0
        assert found.output.base > found.input.base
        _, info = data_snapshot.get_snapshot().find_provider_model(entry.name, None, entry.provider, None)
        assert info.id == entry.name
        assert not info.deprecated

    def test_a_provider_is_found_by_its_public_address(self) -> None:
        found = database_price("llama-3.3-70b-versatile", provider="openai", base_url="https://api.groq.com/openai/v1", now=NOW)
        assert found.input.base > 0

    @pytest.mark.parametrize("base_url", ["http://127.0.0.1:8000/v1", "http://my-server/v1", "https://gateway.example.com"])
    def test_ones_own_server_is_never_priced_by_its_models_name(self, base_url: str) -> None:
        with pytest.raises(PriceUnknownError, match="does not know"):
            database_price("gpt-4o", provider="openai", base_url=base_url, now=NOW)

    def test_an_unknown_model_is_unknown(self) -> None:
        with pytest.raises(PriceUnknownError, match='does not know "gpt-99"'):
            database_price("gpt-99", provider="openai", base_url=None, now=NOW)

    def test_fees_that_are_no_tokens_are_unknown(self) -> None:
        with pytest.raises(PriceUnknownError, match="not counted by tokens"):
            database_price("sonar", provider="openai", base_url="https://api.perplexity.ai", now=NOW)

    def test_a_model_that_writes_nothing_is_unknown(self) -> None:
        with pytest.raises(PriceUnknownError, match="no price for input and output"):
            database_price("text-embedding-3-small", provider="openai", base_url=None, now=NOW)

    def test_a_price_by_the_time_of_day_counts_at_its_dearest(self) -> None:
        at_night, at_noon = (datetime(2025, 3, 1, hour, tzinfo=UTC) for hour in (18, 12))
        found = {
            database_price("deepseek-chat", provider="openai", base_url="https://api.deepseek.com", now=moment).input
            for moment in (at_night, at_noon)
        }
        assert len(found) == 1

    def test_a_price_that_is_about_to_rise_counts_risen(self) -> None:
        """The database lowers o3 on a day; on the eve both prices apply within two days, and the dearer one counts."""
        eve, later = (database_price("o3", provider="openai", base_url=None, now=datetime(2025, 6, day, 23, tzinfo=UTC)) for day in (9, 20))
        assert eve.input.base > later.input.base == Decimal(2)
