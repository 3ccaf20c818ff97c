"""Themes: told apart from broken ones with all their faults and lines, readable by WCAG, safe for eyes that see fewer colours."""

from itertools import combinations
from pathlib import Path

import pytest
from colour_vision import MISSING, difference, lab, linear, seen
from console_driver import console, press, screen_text, settled
from console_records import every_kind_of_run, group
from rich.color import Color, ColorSystem
from scripted_backend import ScriptedBackend

from nodus_tui.console_memory import FILE_NAME, ConsoleMemory
from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.ready_themes import READY, made_ready, ready_theme
from nodus_tui.theme_shelf import ThemeShelf, packaged_folder
from nodus_tui.theming import ThemeFile, Tones, Weights, contrast, load_theme
from nodus_tui.view_state.cells import Tone


def shelf(*folders: Path) -> ThemeShelf:
    made = ThemeShelf(folders)
    made.read()
    return made


PACKAGED = shelf(packaged_folder()).themes
COLOURED = [theme for theme in PACKAGED.values() if not theme.ansi]
DARK = (packaged_folder() / "nodus-dark.yaml").read_text(encoding="utf-8")

by_name = pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)


def test_the_packaged_themes_are_all_fit() -> None:
    assert shelf(packaged_folder()).faults == ()
    assert {*PACKAGED} == {
        *("nodus-dark", "nodus-light", "nodus-high-contrast", "nodus-deuteranopia", "nodus-tritanopia"),
        *("nodus-ansi", "nodus-mono"),
    }
    assert all(theme.about for theme in PACKAGED.values())


def test_what_stands_ready_of_the_packaged_themes_is_what_their_files_say() -> None:
    files = sorted(packaged_folder().glob("*.yaml"))
    assert (packaged_folder() / READY).read_text(encoding="utf-8") == made_ready(files), "run: python scripts/ready_themes.py"
    for file in files:
        ready = ready_theme(file, file.read_bytes())
        assert ready is not None
        assert ready.theme() == load_theme(str(file), file.read_bytes()).theme()
        assert ready.model_dump() == load_theme(str(file), file.read_bytes()).model_dump()


def test_a_packaged_file_that_was_changed_shows_what_it_says(tmp_path: Path) -> None:
    for file in (packaged_folder() / "nodus-dark.yaml", packaged_folder() / READY):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    changed = tmp_path / "nodus-dark.yaml"
    assert ready_theme(changed, changed.read_bytes()) is not None
    changed.write_text(changed.read_text(encoding="utf-8").replace("dark: true", "dark: false"), encoding="utf-8")
    assert ready_theme(changed, changed.read_bytes()) is None


def test_a_theme_has_every_tone() -> None:
    assert {*Tones.model_fields} == {*Weights.model_fields} == {tone.value for tone in Tone}


@by_name
def test_every_text_is_readable_on_every_ground(theme: ThemeFile) -> None:
    """WCAG 2.1 level AA: 4.5 for text, 3 for what is no text, such as bars. What is really drawn, test_console_contrast looks at."""
    low = {
        f"{tone.value} on {name}": round(contrast(colour, ground), 2)
        for tone, colour in theme.tones.by_tone().items()
        for name, ground in theme.grounds.model_dump().items()
        if contrast(colour, ground) < (3 if tone is Tone.TRACK else 4.5)
    }
    assert low == {}


def of_256(colour: str) -> str:
    """What becomes of a colour in a terminal that has no more than 256, as tmux and screen do without more being said."""
    return Color.parse(colour).downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex


@by_name
def test_it_stays_readable_in_256_colours(theme: ThemeFile) -> None:
    tones, grounds = theme.tones.by_tone(), theme.grounds.model_dump()
    low = {
        f"{tone.value} on {name}": round(contrast(of_256(colour), of_256(ground)), 2)
        for tone, colour in tones.items()
        for name, ground in grounds.items()
        if contrast(of_256(colour), of_256(ground)) < (3 if tone is Tone.TRACK else 4.5)
    }
    assert low == {}
    assert of_256(grounds["cursor"]) not in {of_256(grounds[name]) for name in grounds if name != "cursor"}, "the cursor's row is seen"


def test_high_contrast_is_that_of_level_aaa() -> None:
    theme = PACKAGED["nodus-high-contrast"]
    grounds = theme.grounds.model_dump().values()
    texts = [colour for tone, colour in theme.tones.by_tone().items() if tone is not Tone.TRACK]
    assert min(contrast(text, ground) for text in texts for ground in grounds) >= 7
    assert min(contrast(theme.tones.track, ground) for ground in grounds) >= 4.5


def test_the_document_has_every_theme_and_a_fit_example(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "console.md").read_text(encoding="utf-8")
    assert {name for name in PACKAGED if f"| `{name}` |" in text} == {*PACKAGED}
    [example] = [part.partition("```")[0] for part in text.split("```yaml\n")[1:] if part.startswith("name:")]
    (tmp_path / "mine.yaml").write_text(example, encoding="utf-8")
    made = shelf(tmp_path)
    assert made.faults == ()
    assert min(contrast(colour, made.themes["mine"].grounds.cursor) for colour in made.themes["mine"].tones.by_tone().values()) > 3.5


def test_contrast_is_that_of_wcag() -> None:
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48


SAFE_FOR = {"nodus-deuteranopia": ("protanopia", "deuteranopia"), "nodus-tritanopia": ("tritanopia",)}
PLAIN_AT_A_GLANCE = 20
"""CIEDE2000: some twenty times what is just seen."""


@pytest.mark.parametrize(("name", "deficiency"), [(name, each) for name, all_of in SAFE_FOR.items() for each in all_of])
def test_the_tones_of_states_stay_apart_for_eyes_that_lack_a_kind_of_cones(name: str, deficiency: str) -> None:
    tones = {tone: PACKAGED[name].tones.by_tone()[tone] for tone in (Tone.GOOD, Tone.BAD, Tone.WARN, Tone.INFO)}
    reduced = {tone: of_256(colour) for tone, colour in tones.items()}
    for one, other in combinations(reduced, 2):
        assert difference(lab(seen(reduced[one], deficiency)), lab(seen(reduced[other], deficiency))) > PLAIN_AT_A_GLANCE * 0.75
    apart = {
        f"{one} {other}": difference(lab(seen(tones[one], deficiency)), lab(seen(tones[other], deficiency)))
        for one, other in combinations(tones, 2)
    }
    assert min(apart.values()) > PLAIN_AT_A_GLANCE, apart


@by_name
def test_the_tones_of_states_are_apart_for_everybody_else(theme: ThemeFile) -> None:
    tones = [lab(linear(theme.tones.by_tone()[tone])) for tone in (Tone.GOOD, Tone.BAD, Tone.WARN, Tone.INFO)]
    assert min(difference(one, other) for one, other in combinations(tones, 2)) > PLAIN_AT_A_GLANCE


def test_the_simulation_is_that_of_the_models() -> None:
    """What does not change by definition, what cannot be told apart, and pairs published with the formula of the difference."""
    for deficiency in MISSING:
        for grey in ("#ffffff", "#808080"):
            assert seen(grey, deficiency) == pytest.approx(linear(grey), abs=1e-6)
    assert seen("#0000ff", "deuteranopia") == pytest.approx((0, 0, 1), abs=1e-6)
    red, green, _ = seen("#ff0000", "deuteranopia")
    assert red == pytest.approx(green, abs=1e-6), "red and green look the same hue"
    for one, other, published in (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ):
        assert difference(one, other) == pytest.approx(published, abs=1e-4)


_NAMES = ("black", "white", "red", "green", "yellow", "magenta", "cyan")
PALETTES = {
    "xterm": dict(zip(_NAMES, ["#000000", "#e5e5e5", "#ff0000", "#00ff00", "#ffff00", "#ff00ff", "#00ffff"], strict=True)),
    "Linux console": dict(zip(_NAMES, ["#000000", "#aaaaaa", "#ff5555", "#55ff55", "#ffff55", "#ff55ff", "#55ffff"], strict=True)),
    "Windows": dict(zip(_NAMES, ["#0c0c0c", "#cccccc", "#e74856", "#16c60c", "#f9f1a5", "#b4009e", "#61d6d6"], strict=True)),
}
"""Black, white and the bright colours as terminals have them before anybody changes them."""


@pytest.mark.parametrize("palette", PALETTES)
def test_the_sixteen_colours_are_readable_where_nobody_changed_them(palette: str) -> None:
    theme, colours = PACKAGED["nodus-ansi"], PALETTES[palette]
    assert {*theme.grounds.model_dump().values()} == {"ansi_black", "ansi_white"}
    texts = {tone: colour.removeprefix("ansi_").removeprefix("bright_") for tone, colour in theme.tones.by_tone().items()}
    low = {tone: name for tone, name in texts.items() if contrast(colours[name], colours["black"]) < 4.5}
    # The magenta of Windows is a dark one; what it marks is told by a word beside it, and bars need no more than 3.
    assert {*low} <= ({Tone.MARK} if palette == "Windows" else set())


def test_no_colour_is_no_colour() -> None:
    assert PACKAGED["nodus-mono"].colourless
    assert not PACKAGED["nodus-ansi"].colourless


# Files


def sentences(folder: Path) -> list[str]:
    return [fault.sentence().removeprefix(f"{folder}/") for fault in shelf(folder).faults]


def test_all_faults_of_a_theme_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        """\
name: UPPER
dark: maybe
colour: red
grounds: {background: nocolour, surface: "#fff", panel: "#fff", cursor: "#fff"}
tones:
  plain: "#fff"
  goood: "#fff"
weights: {bad: fat}
""",
        encoding="utf-8",
    )
    told = sentences(tmp_path)
    for part in (
        'bad.yaml:1:7: name: name is "UPPER"; it must match',
        'bad.yaml:2:7: dark: dark is "maybe"; it must be true or false',
        'bad.yaml:3:1: colour: a document has no field "colour"',
        'bad.yaml:4:23: grounds.background: "nocolour" is no colour; write "#rrggbb" or a name such as ansi_green',
        'bad.yaml:7:3: tones.goood: tones has no field "goood" (did you mean "good"?)',
        "bad.yaml:6:3: tones.muted: muted is missing",
        'bad.yaml:8:16: weights.bad: "fat" is no weight; the weights are bold, dim, italic, underline, reverse',
    ):
        assert any(sentence.startswith(part) for sentence in told), (part, told)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "UTF-16"),
        (b"a: [", "never closed"),
        (b"", "empty"),
        (b"- 1", "a mapping of fields"),
        (b"{}\n---\n{}", "one document"),
        (DARK.replace('"#10151c"', "ansi_black").encode(), "ansi: true"),
        (DARK.replace("dark: true", "dark: true\nansi: true").encode(), "terminal's own colours only"),
        (DARK.replace('plain: "#d3dae3"', "plain: *x").encode(), "alias"),
    ],
)
def test_a_file_that_is_no_theme_is_told_in_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    made = shelf(tmp_path)
    assert made.themes == {}
    assert said in " ".join(fault.sentence() for fault in made.faults)


def test_a_users_theme_goes_before_one_of_the_same_name_and_its_absence_gives_that_back(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yml"
    mine.write_text(DARK.replace("#d3dae3", "#eeeeee"), encoding="utf-8")
    made = shelf(packaged_folder(), tmp_path)
    assert made.themes["nodus-dark"].tones.plain == "#eeeeee"
    assert made.file_of("nodus-dark") == mine
    mine.unlink()
    assert made.read().read == ("nodus-dark",)
    assert made.themes["nodus-dark"].tones.plain == "#d3dae3"


def test_a_broken_file_keeps_its_last_good_look_until_it_is_mended(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(DARK.replace("nodus-dark", "mine"), encoding="utf-8")
    made = shelf(tmp_path)
    assert made.read() == made.read(made.marks()), "nothing changed, so nothing is told"
    mine.write_text("name: [", encoding="utf-8")
    assert made.read().broken == (mine,)
    assert made.themes["mine"].tones.plain == "#d3dae3"
    mine.write_text(DARK.replace("nodus-dark", "mine").replace("#d3dae3", "#dddddd"), encoding="utf-8")
    news = made.read()
    assert (news.mended, news.read) == ((mine,), ("mine",))
    assert made.themes["mine"].tones.plain == "#dddddd"


def test_a_folder_that_is_none_and_a_file_that_cannot_be_read_end_nothing(tmp_path: Path) -> None:
    (tmp_path / "dir.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    assert shelf(tmp_path / "nothing").themes == {}
    assert "cannot be read" in sentences(tmp_path)[0]


# In the console


def world() -> ScriptedBackend:
    return ScriptedBackend([group()], every_kind_of_run())


def foreground(app) -> set[str]:
    styles = (
        segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.style and segment.text.strip()
    )
    return {style.color.triplet.hex for style in styles if style.color is not None and style.color.triplet is not None}


async def test_a_changed_file_is_seen_while_the_console_runs(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(DARK.replace("nodus-dark", "mine"), encoding="utf-8")
    settings = ConsoleSettings(theme="mine")
    async with console(world(), theme_folders=(tmp_path,), settings=settings, size=(100, 30)) as (app, pilot):
        assert "#d3dae3" in foreground(app)
        mine.write_text(DARK.replace("nodus-dark", "mine").replace("#d3dae3", "#fedcba"), encoding="utf-8")
        await app.look_at_themes()
        await settled(app, pilot)
        assert "#fedcba" in foreground(app)
        mine.write_text('name: mine\ndark: true\ntones: {plain: "#zzz"}\n', encoding="utf-8")
        await app.look_at_themes()
        await settled(app, pilot)
        assert "#fedcba" in foreground(app), "the last good look stays"
        shown = " ".join(screen_text(app).split())
        assert len(app.looks.shelf.faults) == 12
        for fault in app.looks.shelf.faults:
            assert f"mine.yaml:{fault.line}:{fault.column}: {fault.path}: {fault.message}" in shown
        mine.write_text(DARK.replace("nodus-dark", "mine"), encoding="utf-8")
        await app.look_at_themes()
        await settled(app, pilot)
        assert "#d3dae3" in foreground(app)
        assert "theme files are in order again" in screen_text(app)


async def test_a_broken_theme_is_told_at_the_start_and_the_wanted_name_with_the_nearest(tmp_path: Path) -> None:
    async with console(world(), settings=ConsoleSettings(theme="nodus-drak"), size=(120, 30)) as (app, _):
        assert app.theme == "nodus-dark"
        assert 'there is no theme "nodus-drak" (did you mean "nodus-dark"?)' in screen_text(app)
    (tmp_path / "bad.yaml").write_text("name: bad\n", encoding="utf-8")
    async with console(world(), theme_folders=(tmp_path,), size=(120, 30)) as (app, _):
        assert "bad.yaml:1:1: dark: dark is missing" in screen_text(app)


async def test_each_theme_is_shown_as_it_is_moved_to_and_the_chosen_one_is_remembered(tmp_path: Path) -> None:
    async with console(world(), state_folder=tmp_path, size=(100, 30)) as (app, pilot):
        await press(app, pilot, "t")
        assert app.screen.query_one("LineTable").cursor_key == "nodus-dark"
        await press(app, pilot, "end")
        assert app.theme == "nodus-tritanopia"
        assert PACKAGED["nodus-tritanopia"].tones.good in foreground(app)
        await press(app, pilot, "escape")
        assert app.theme == "nodus-dark"
        await press(app, pilot, "ctrl+p", *"colours", "enter", "home", "down", "enter")
        assert app.theme == sorted(PACKAGED)[1]
        chosen = app.theme
        assert f"Theme {chosen}, from now on." in screen_text(app)
    async with console(world(), state_folder=tmp_path) as (app, _):
        assert app.theme == chosen
    async with console(world(), state_folder=tmp_path, settings=ConsoleSettings(theme="nodus-light")) as (app, _):
        assert app.theme == "nodus-light", "the configuration says something else since"


async def test_what_cannot_be_remembered_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    async with console(world(), state_folder=tmp_path / "file", size=(120, 30)) as (app, pilot):
        await press(app, pilot, "t", "home", "enter")
        assert "until the end only" in screen_text(app)


def test_a_damaged_memory_is_as_none(tmp_path: Path) -> None:
    for damaged in (b"\xff", b"[]", b"{", b""):
        (tmp_path / FILE_NAME).write_bytes(damaged)
        memory = ConsoleMemory(tmp_path)
        assert memory.get("theme") is None
        assert memory.keep("theme", "x") == ""
    assert ConsoleMemory(tmp_path).get("theme") == "x"
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]
