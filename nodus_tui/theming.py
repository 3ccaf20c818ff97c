"""Themes: one YAML file each, checked whole, made into Textual's themes. Users add theirs in a folder of their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from nodus_tui.view_state.cells import Tone
from nodus_tui.widgets.paint import tone_variables

DEFAULT_THEME = "nodus-dark"


def _checked_colour(text: str) -> str:
    try:
        Color.parse(text)
    except ColorParseError:
        raise ValueError(f'{text!r} is no colour; write "#rrggbb" or a name such as ansi_green') from None
    return text


Colour = Annotated[str, AfterValidator(_checked_colour)]


class Grounds(BaseModel):
    """What text stands on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    background: Colour
    surface: Colour
    panel: Colour
    cursor: Colour


class ThemeFile(BaseModel):
    """One theme as its file has it: the grounds, and a colour for every tone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    dark: bool
    ansi: bool = False
    """Colours are the terminal's own sixteen."""
    grounds: Grounds
    tones: dict[Tone, Colour]

    def missing_tones(self) -> list[str]:
        """Tones without a colour."""
        return [tone.value for tone in Tone if tone not in self.tones]

    def theme(self) -> Theme:
        """The theme for Textual, with one variable for each tone."""
        tones, grounds = self.tones, self.grounds
        variables = {
            **tone_variables(tones, grounds.cursor),
            "input-cursor-background": tones[Tone.PLAIN],
            "input-cursor-foreground": grounds.background,
            "scrollbar": tones[Tone.TRACK],
            "scrollbar-hover": tones[Tone.MUTED],
            "scrollbar-active": tones[Tone.KEY],
            "scrollbar-background": grounds.background,
            "scrollbar-background-hover": grounds.background,
            "scrollbar-background-active": grounds.background,
            "scrollbar-corner-color": grounds.background,
        }
        if self.ansi:
            # Textual's own styles name variables that only its own sixteen-colour theme has.
            variables = {**BUILTIN_THEMES["ansi-dark"].variables, **variables}
            variables |= {"input-cursor-background": "ansi_white", "input-cursor-foreground": "ansi_black"}
        return Theme(
            name=self.name,
            primary=tones[Tone.KEY],
            secondary=tones[Tone.INFO],
            accent=tones[Tone.TITLE],
            foreground=tones[Tone.PLAIN],
            background=grounds.background,
            surface=grounds.surface,
            panel=grounds.panel,
            success=tones[Tone.GOOD],
            warning=tones[Tone.WARN],
            error=tones[Tone.BAD],
            dark=self.dark,
            ansi=self.ansi,
            variables=variables,
        )


@dataclass(frozen=True)
class LoadedThemes:
    """The themes that are fit to use, and a sentence for each that is not."""

    themes: tuple[ThemeFile, ...]
    problems: tuple[str, ...]


def packaged_folder() -> Path:
    """Where the themes lie that come with the console: inside the installed package, or beside it in a checkout."""
    installed = Path(__file__).parent / "themes"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "themes"


def load_themes(folders: Iterable[Path]) -> LoadedThemes:
    """All themes of the folders; a later one of the same name replaces an earlier. A folder that is not there holds none."""
    themes: dict[str, ThemeFile] = {}
    problems: list[str] = []
    for folder in folders:
        for file in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            loaded = _load(file)
            if isinstance(loaded, ThemeFile):
                themes[loaded.name] = loaded
            else:
                problems.append(loaded)
    return LoadedThemes(tuple(themes.values()), tuple(problems))


def _load(file: Path) -> ThemeFile | str:
    try:
        theme = ThemeFile.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(str(part) for part in fault['loc']) or 'the file'}: {fault['msg']}" for fault in error.errors())
        return f"theme {file}: {faults}"
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return f"theme {file} cannot be read: {error}"
    missing = theme.missing_tones()
    return f"theme {file} has no colour for {', '.join(missing)}" if missing else theme


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours after WCAG 2.1, from 1 to 21."""
    lights = sorted((_luminance(Color.parse(one)), _luminance(Color.parse(other))), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def _luminance(colour: Color) -> float:
    """Relative luminance after WCAG 2.1."""
    parts = [part / 255 for part in (colour.r, colour.g, colour.b)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
