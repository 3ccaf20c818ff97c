"""Themes: what a file of one says, and what becomes of it on the screen. It knows tones and Textual's themes, and reads no file."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from nodus_tui.contract.base import ContractModel
from nodus_tui.view_state.cells import Tone
from nodus_tui.widgets.paint import tone_variables

DEFAULT_THEME = "nodus-dark"
SIXTEEN_THEME = "nodus-ansi"
"""For terminals that have no more than sixteen colours."""
PLAIN_THEME = "nodus-mono"
"""For terminals that have none, and people who want none."""

_WEIGHTS = ("bold", "dim", "italic", "underline", "reverse")


def _checked_colour(text: str) -> str:
    try:
        Color.parse(text)
    except ColorParseError:
        raise ValueError(f'"{text}" is no colour; write "#rrggbb" or a name such as ansi_green') from None
    return text


def _checked_weight(text: str) -> str:
    if strange := [word for word in text.split() if word not in _WEIGHTS]:
        raise ValueError(f'"{strange[0]}" is no weight; the weights are {", ".join(_WEIGHTS)}')
    return text


Colour = Annotated[str, Field(max_length=40), AfterValidator(_checked_colour)]
Weight = Annotated[str, Field(max_length=60), AfterValidator(_checked_weight)]
"""How letters are drawn beside their colour: `bold`, `bold underline`, or nothing."""


class Grounds(ContractModel):
    """What text stands on."""

    background: Colour
    surface: Colour
    panel: Colour
    cursor: Colour


class Tones(ContractModel):
    """A colour for each tone, by its name."""

    plain: Colour
    muted: Colour
    strong: Colour
    title: Colour
    key: Colour
    good: Colour
    bad: Colour
    warn: Colour
    info: Colour
    mark: Colour
    track: Colour

    def by_tone(self) -> dict[Tone, str]:
        """The same by tone."""
        return {tone: getattr(self, tone.value) for tone in Tone}


class Weights(ContractModel):
    """What tones look like beside their colour. What is not named is drawn plainly, but for titles, keys and what is strong: bold."""

    plain: Weight = ""
    muted: Weight = ""
    strong: Weight = "bold"
    title: Weight = "bold"
    key: Weight = "bold"
    good: Weight = ""
    bad: Weight = ""
    warn: Weight = ""
    info: Weight = ""
    mark: Weight = ""
    track: Weight = ""


class ThemeFile(ContractModel):
    """One theme as its file has it: the grounds, and a colour and a weight for every tone."""

    model_config = ConfigDict(alias_generator=None)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    about: Annotated[str, Field(max_length=60)] = ""
    """For whom it is, in a few words."""
    dark: bool
    ansi: bool = False
    """Its colours are the terminal's own sixteen, or its own two where it names `ansi_default` only."""
    grounds: Grounds
    tones: Tones
    weights: Weights = Weights.model_construct()

    @model_validator(mode="after")
    def _one_kind_of_colours(self) -> "ThemeFile":
        strange = sorted({colour for colour in self._colours() if colour.startswith("ansi_") is not self.ansi})
        if strange and self.ansi:
            raise PydanticCustomError(
                "ansi", f"`ansi: true` goes with the terminal's own colours only, such as ansi_green; not {strange[0]}"
            )
        if strange:
            raise PydanticCustomError("ansi", f"{strange[0]} is one of the terminal's own colours: they go with `ansi: true`")
        return self

    @classmethod
    def of_checked(cls, fields: Mapping[str, Any]) -> "ThemeFile":
        """The theme of fields that were checked before. To make the checks takes a start longer than all else of a theme."""
        parts: dict[str, type[ContractModel]] = {"grounds": Grounds, "tones": Tones, "weights": Weights}
        made: dict[str, Any] = {name: parts[name].model_construct(**each) if name in parts else each for name, each in fields.items()}
        return cls.model_construct(**made)

    def _colours(self) -> tuple[str, ...]:
        return tuple(colour for part in (self.grounds, self.tones) for _, colour in part)

    @property
    def colourless(self) -> bool:
        """Whether it has no colour at all."""
        return set(self._colours()) == {"ansi_default"}

    def theme(self) -> Theme:
        """The theme for Textual, with variables by which the styles find the tones."""
        tones, grounds = self.tones, self.grounds
        variables = {
            **tone_variables(tones.by_tone(), grounds.cursor, dict(self.weights)),
            "input-cursor-background": tones.plain,
            "input-cursor-foreground": grounds.background,
            "input-selection-background": grounds.cursor,
            "screen-selection-background": tones.plain,
            "screen-selection-foreground": grounds.background,
            "text-disabled": tones.muted,
            "scrollbar": tones.track,
            "scrollbar-hover": tones.muted,
            "scrollbar-active": tones.key,
            "scrollbar-background": grounds.background,
            "scrollbar-background-hover": grounds.background,
            "scrollbar-background-active": grounds.background,
            "scrollbar-corner-color": grounds.background,
        }
        if self.ansi:
            # Textual's own styles name variables that only its own sixteen-colour theme has.
            variables = {**BUILTIN_THEMES["ansi-dark"].variables, **variables}
        return Theme(
            name=self.name,
            primary=tones.key,
            secondary=tones.info,
            accent=tones.title,
            foreground=tones.plain,
            background=grounds.background,
            surface=grounds.surface,
            panel=grounds.panel,
            success=tones.good,
            warning=tones.warn,
            error=tones.bad,
            dark=self.dark,
            ansi=self.ansi,
            variables=variables,
        )


def load_theme(file: str, text: bytes) -> ThemeFile:
    """The theme that a file's text is. Raises NodusError Configuration with every fault of it, each with its line."""
    from nodus_tui.contract.spec_loading.single_document import load_single  # noqa: PLC0415 - reads YAML, where that is not yet read

    return load_single(ThemeFile, file, text, what="theme")


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours after WCAG 2.1, from 1 to 21."""
    lights = sorted((_luminance(Color.parse(one)), _luminance(Color.parse(other))), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def _luminance(colour: Color) -> float:
    """Relative luminance after WCAG 2.1."""
    parts = [part / 255 for part in (colour.r, colour.g, colour.b)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
