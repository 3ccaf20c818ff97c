"""The families that every catalogue has, unless the configuration file says otherwise: the current models of two public providers, and a
simulated ones, so that a first campaign, and a first comparison, needs no key.

The names of the former are those of the price database; an entry of the same family in the configuration file takes their place.
They are made unchecked, for their schema takes longer to build than all else that a catalogue does; a test checks them.
"""

from decimal import Decimal

from nodus_tui.contract.configuration import ModelEntry, SimulatedBehaviour, TokenPrice

DEFAULT_FAMILIES: tuple[ModelEntry, ...] = (
    ModelEntry.model_construct(family="haiku", provider="anthropic", name="claude-haiku-5-5"),
    ModelEntry.model_construct(family="sonnet", provider="anthropic", name="claude-sonnet-5-5"),
    ModelEntry.model_construct(family="opus", provider="anthropic", name="claude-opus-5-5"),
    ModelEntry.model_construct(family="gpt-luna", provider="openai", name="gpt-6-luna"),
    ModelEntry.model_construct(family="gpt-terra", provider="openai", name="gpt-6.1-terra"),
    ModelEntry.model_construct(family="gpt-sol", provider="openai", name="gpt-6.1-sol"),
    ModelEntry.model_construct(family="gpt-4.1-mini", provider="openai", name="gpt-4.1-mini"),
    ModelEntry.model_construct(
        family="simulated",
        provider="simulated",
        name="simulated-1",
        price=TokenPrice.model_construct(input_per_m_tok=Decimal("1.00"), output_per_m_tok=Decimal("5.00"), notional=True),
        simulated=SimulatedBehaviour.model_construct(
            accuracy=0.7, invalid=0.05, latency_seconds=0.2, latency_spread=0.5, output_tokens=60, seed=1
        ),
    ),
    ModelEntry.model_construct(
        family="simulated-weak",
        provider="simulated",
        name="simulated-weak-1",
        price=TokenPrice.model_construct(input_per_m_tok=Decimal("0.50"), output_per_m_tok=Decimal("2.50"), notional=True),
        simulated=SimulatedBehaviour.model_construct(
            accuracy=0.5, invalid=0.05, latency_seconds=0.1, latency_spread=0.5, output_tokens=60, seed=2
        ),
    ),
)
