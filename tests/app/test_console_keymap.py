"""A person's own keys in the running console: they act, and every place that names keys names them."""

from console_driver import console, press, screen_text
from console_records import every_kind_of_run, group
from console_stops import STOPS, go_to
from scripted_backend import ScriptedBackend

from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.phases import GroupPhase
from nodus_tui.screens.campaigns import CampaignsScreen
from nodus_tui.screens.group import GroupScreen
from nodus_tui.screens.palette import Palette
from nodus_tui.values import replace
from nodus_tui.widgets.dialogs import ConfirmDialog, HelpOverlay, PromptDialog

OWN = ConsoleSettings.model_validate(
    {"keys": {"kill": "e", "extend": ["x", "ctrl+e"], "open": "l", "launch": None, "down": ["n", "down"], "help": "h", "palette": "p"}}
)


def own() -> ScriptedBackend:
    return ScriptedBackend([group("fleet"), group("two")], every_kind_of_run())


async def test_the_chosen_keys_act_and_the_old_ones_do_not() -> None:
    async with console(own(), settings=OWN) as (app, pilot):
        for key, dialog in (("e", ConfirmDialog), ("x", PromptDialog), ("ctrl+e", PromptDialog)):
            await press(app, pilot, key)
            assert type(app.screen) is dialog, key
            await press(app, pilot, "escape")
        first = app.screen.table.cursor_key
        await press(app, pilot, "j", "enter")
        assert (type(app.screen), app.screen.table.cursor_key) == (CampaignsScreen, first)
        await press(app, pilot, "n")
        assert app.screen.table.cursor_key != first
        await press(app, pilot, "l")
        assert type(app.screen) is GroupScreen


async def test_a_chosen_letter_is_typed_where_something_is_typed() -> None:
    async with console(own(), settings=OWN) as (app, pilot):
        await press(app, pilot, "slash", *"lnxe")
        assert app.screen.query_one("#filter-text").value == "lnxe"
        await press(app, pilot, "escape", "p", *"pl")
        assert type(app.screen) is Palette
        assert app.screen.query_one("#words").value == "pl"


async def test_footer_help_and_palette_show_the_chosen_keys() -> None:
    async with console(own(), settings=OWN, size=(120, 40)) as (app, pilot):
        footer = screen_text(app).splitlines()[-1]
        assert "l open" in footer
        assert "e kill" in footer
        assert "launch" not in footer, "it has no key, and the footer has keys"
        await press(app, pilot, "h")
        shown = screen_text(app)
        assert "x ctrl+e " in shown
        assert "palette         Estimate a spec file" in shown
        await press(app, pilot, "h")
        assert not isinstance(app.screen, HelpOverlay), "the key that opened the help closes it"
        await press(app, pilot, "p", *"kill")
        assert any(row.replace("│", " ").split()[:3] == ["e", "kill", "Kill"] for row in screen_text(app).splitlines())


async def test_sentences_name_the_chosen_keys() -> None:
    settings = ConsoleSettings.model_validate({"keys": {"resume": "g", "first": "home", "minutes": "M", "quit": "Q", "launch": "ctrl+l"}})
    resting = ScriptedBackend([group(phase=GroupPhase.INTERRUPTED, message="it was stopped")], every_kind_of_run())
    async with console(resting, settings=settings) as (app, pilot):
        assert "it was stopped: g lets it go on" in screen_text(app)
        await press(app, pilot, "enter")
        assert "it was stopped: g lets it go on" in screen_text(app)
        assert screen_text(app).splitlines()[-1].startswith(" g resume")
        assert screen_text(app).splitlines()[-1].endswith("Q quit")
    async with console(ScriptedBackend(), settings=settings) as (app, pilot):
        assert "ctrl+l  estimates a spec file" in screen_text(app)
    async with console(STOPS["estimate"].world(), settings=settings) as (app, pilot):
        await go_to(app, pilot, replace(STOPS["estimate"], keys=("ctrl+l", *STOPS["estimate"].keys[1:])))
        assert "M changes that" in screen_text(app)
