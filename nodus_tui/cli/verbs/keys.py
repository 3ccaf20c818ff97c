"""`keys`: the console's keys as a list, with those that a person's configuration gives."""

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.connect import config_path
from nodus_tui.console_settings import console_settings
from nodus_tui.view_state.key_actions import Situation, View, actions_of, keys_markdown, opened_view
from nodus_tui.view_state.key_moves import MOVES
from nodus_tui.view_state.key_names import shown_key
from nodus_tui.view_state.keymap import keymap_of


@click.command("keys")
@click.argument("view", type=click.Choice([view.value for view in View]), required=False, metavar="[VIEW]")
@output_option("table", "json", "markdown")
def command(view: str | None, output: str) -> int:
    """The keys of the console, of one VIEW or of all, with those of `console: {keys: …}` in the configuration file.

    The names in the column ACTION are those that `keys` takes there. `-o markdown` prints the whole reference, as docs/keys.md has it.
    """
    situation = Situation(keys=keymap_of(console_settings(config_path()).keys))
    if output == "markdown":
        emit(keys_markdown(situation))
        return Exit.DONE
    views = tuple(View) if view is None else (View(view),)
    rows = [
        (each.value, [shown_key(key) for key in action.keys], action.id, action.help)
        for each in views
        for action in actions_of(each, situation)
    ]
    rows += [("moving", [shown_key(key) for key in situation.keys.get(move.id, move.keys)], move.id, move.help) for move in MOVES]
    if output == "json":
        emit(json_text([{"view": where, "keys": [*keys], "action": action, "help": what} for where, keys, action, what in rows]))
    else:
        shown = ((where, " ".join(keys) or _without(action), action, what) for where, keys, action, what in rows)
        emit(table_text(("VIEW", "KEYS", "ACTION", "WHAT IT DOES"), shown))
    return Exit.DONE


def _without(action: str) -> str:
    return f":{action}" if opened_view(action) else "palette"
