"""The families that every catalogue has, unless the configuration file says otherwise: the current models of two public providers.

Their names are those of the price database; an entry of the same family in the configuration file takes their place.
"""

from nodus_tui.contract.configuration import ModelEntry

DEFAULT_FAMILIES: tuple[ModelEntry, ...] = (
    ModelEntry(family="haiku", provider="anthropic", name="claude-haiku-5-5"),
    ModelEntry(family="sonnet", provider="anthropic", name="claude-sonnet-5-5"),
    ModelEntry(family="opus", provider="anthropic", name="claude-opus-5-5"),
    ModelEntry(family="gpt-luna", provider="openai", name="gpt-6-luna"),
    ModelEntry(family="gpt-terra", provider="openai", name="gpt-6.1-terra"),
    ModelEntry(family="gpt-sol", provider="openai", name="gpt-6.1-sol"),
    ModelEntry(family="gpt-4.1-mini", provider="openai", name="gpt-4.1-mini"),
)
