"""The console's own settings, a part of the user's configuration file that a start needs before all else of it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from nodus_tui.contract.base import ContractModel


def _key_texts(value: Any) -> Any:
    """One key, several, or none; `keys: {next: 1}` means the key of that digit."""
    if value is None:
        return ()
    each = value if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(text, str | int) and not isinstance(text, bool) for text in each):
        raise PydanticCustomError("keys", "it must be a key such as x, ctrl+x or Esc, a list of keys, or null for no key at all")
    return tuple(str(text) for text in each)


KeyTexts = Annotated[
    tuple[Annotated[str, Field(max_length=40)], ...],
    BeforeValidator(_key_texts),
    WithJsonSchema({"anyOf": [{"type": ["string", "integer", "null"]}, {"type": "array", "items": {"type": ["string", "integer"]}}]}),
    Field(max_length=8),
]
"""Keys as a person writes them; which ones there are and what they would do twice, the console knows."""


class ConsoleSettings(ContractModel):
    """The console's own settings."""

    theme: str = "nodus-dark"
    """The name of a theme: one that comes with the console, or of a file in `themes` beside the configuration."""
    mouse: bool = True
    """Whether clicks and the wheel come to the console; without, the terminal keeps them, and marks text by itself."""
    characters: Literal["auto", "unicode", "ascii"] = "auto"
    """`ascii` draws nothing but ASCII; `auto` does where the locale is not UTF-8."""
    notify: Literal["none", "bell", "osc9"] = "none"
    """How the terminal calls a person when something ends, stalls or fails: its bell, or a notification by OSC 9."""
    keys: dict[str, KeyTexts] = Field(default_factory=dict, max_length=200)
    """Other keys for actions, by the action's name; the others keep their own."""
    columns: dict[str, tuple[str, ...]] = Field(default_factory=dict, max_length=100)
    """The columns of a view's table in their order, by the view's name, until a person chooses others in the console."""
