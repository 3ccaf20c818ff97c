"""Everything a person can do with a key: one list, from which bindings, the footer, the help, the palette and docs/keys.md are made.

An action names the views in which it works, most of them by a trait (views.py): what a table, a filter, a view that can be killed have in
common is written once. An action `X` is done by the method `do_X` of the view. Going to a view is an action too; those are made from the
registry of views, and need no method.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from nodus_tui.values import replace
from nodus_tui.view_state.key_moves import MOVE_BY_ID, moving
from nodus_tui.view_state.key_names import shown_key
from nodus_tui.view_state.views import VIEW_TITLES, Trait, View, destinations, views_with

__all__ = [
    "ALWAYS_LEAVES",
    "KEY_ACTIONS",
    "USUAL",
    "VIEW_TITLES",
    "KeyAction",
    "KeyNamer",
    "Situation",
    "View",
    "action_by_id",
    "actions_of",
    "every_action_of",
    "key_words",
    "keys_markdown",
    "opened_view",
    "own_key",
    "refusal",
]

ALWAYS_LEAVES = "ctrl+c"
"""Whatever keys a person chooses, this one leaves."""

_CAMPAIGN = (View.CAMPAIGNS, View.GROUP, View.RUN)
_TABLES = (View.CAMPAIGNS, View.GROUP)
_SWEEPS = (View.SWEEPS, View.SWEEP)
_JOBS = (View.JOBS, View.JOB)
_DELETABLE = (View.CAMPAIGNS, View.JOBS, View.SWEEPS, View.SANDBOXES)
_LIVE = views_with(Trait.LIVE)
_ABOVE = tuple(view for view in _LIVE if view not in views_with(Trait.FIRST))
_ENDABLE = views_with(Trait.ENDS)
_ROWS = views_with(Trait.ROWS)
_PICKS = views_with(Trait.PICKS)
_FIRST_TABLES = tuple(view for view in views_with(Trait.FILTER) if view in views_with(Trait.FIRST))
_NO_GRID = tuple(view for view in _LIVE if view not in {View.SWEEP, View.TIMELINE, View.RESULTS, View.COMPARISON})
"""Where the keys that move to the left and to the right are free."""


class KeyAction(Struct, frozen=True):
    """One action. `id` is stable: a user's own key map will name it."""

    id: str
    keys: tuple[str, ...]
    """Names as Textual has them; the first is the one that is shown. None: by `:` and the palette only."""
    word: str
    """For the footer."""
    help: str
    """A sentence for help and palette."""
    views: tuple[View, ...]
    footer: bool = True
    """Whether the footer shows it where there is room; a view shows one that matters now in any case."""
    palette: bool = True
    changes: bool = False
    """It changes something in the backend."""
    here: bool = False
    """It reads or writes files, or starts programs, of the machine that the console runs on: not for somebody in a browser."""
    playback: bool = False
    """It moves the showing of a recording: it exists only there."""


class Situation(Struct, frozen=True):
    """From where a person looks on, as far as that decides what they can do."""

    viewer: bool = False
    """They may look only."""
    unknown: bool = False
    """Whether they may act is not known yet: nothing is offered that a viewer may not do, and what they try is the backend's to refuse."""
    browser: bool = False
    """They sit in a browser: the console's machine is not theirs."""
    recording: str = ""
    """What is shown is a recording: of what, in words."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The keys that the person chose, by the id of the action; the others have their own."""


USUAL = Situation()
"""Somebody at a terminal who may act."""


_JUMPS = tuple(
    KeyAction(
        entry.view.value,
        (entry.key,) if entry.key else (),
        entry.view.value,
        entry.help,
        tuple(view for view in _LIVE if view is not entry.view),
        footer=False,
        here=entry.here,
    )
    for entry in destinations()
)
"""One action for each view that can be gone to: made from the registry of views."""

KEY_ACTIONS: tuple[KeyAction, ...] = (
    KeyAction("open", ("enter",), "open", "Open what is selected.", views_with(Trait.OPENS), palette=False),
    KeyAction("go", ("enter",), "go", "Go from a device to its processes, and from a process to its run.", (View.GPUS,), palette=False),
    KeyAction(
        "turn_one", ("enter",), "unfold", "Unfold or fold the marked tool call; on a call, go to its reply.", (View.RUN,), palette=False
    ),
    KeyAction(
        "back",
        ("escape", "backspace"),
        "back",
        "Go back to the view before; a kept filter is taken away first.",
        _ABOVE,
        palette=False,
    ),
    KeyAction("unfilter", ("escape", "backspace"), "no filter", "Take the filter away that is kept.", _FIRST_TABLES, palette=False),
    KeyAction(
        "filter",
        ("slash",),
        "filter",
        "Filter the rows: by words, or by what the line below offers of this table; Tab completes, ! turns one round.",
        views_with(Trait.FILTER),
    ),
    KeyAction("switch", ("tab",), "calls", "Switch between the conversation and its calls.", (View.RUN,), palette=False),
    KeyAction("find", ("slash",), "find", "Find words in what is shown.", (View.RUN, View.LOG)),
    KeyAction("unfold", ("o",), "unfold all", "Show all tool calls and their results whole, or fold all again.", (View.RUN,)),
    KeyAction("facts", ("a",), "facts", "Show all facts of the run: its times, its sandbox and the limits of it, its ids.", (View.RUN,)),
    KeyAction("raw", ("m",), "raw", "Show messages as they were written, or as Markdown again.", (View.RUN,)),
    KeyAction("hit_next", ("n",), "next hit", "Go to the next place that was found.", (View.RUN, View.LOG), footer=False),
    KeyAction("hit_before", ("p",), "hit before", "Go to the place before that was found.", (View.RUN, View.LOG), footer=False),
    KeyAction("part_next", ("right_square_bracket",), "next part", "Mark the next message or tool call.", (View.RUN,), footer=False),
    KeyAction("part_before", ("left_square_bracket",), "part before", "Mark the message or tool call before.", (View.RUN,), footer=False),
    KeyAction("copy_all", ("Y",), "copy all", "Copy the whole conversation.", (View.RUN,), footer=False),
    KeyAction("copy_code", ("c",), "copy code", "Copy the code of the marked part; again for its next block.", (View.RUN,), footer=False),
    KeyAction("pager", ("v",), "pager", "Read the conversation in $PAGER; its end leads back.", (View.RUN,), here=True),
    KeyAction("editor", ("V",), "editor", "Open a copy of the conversation in $EDITOR.", (View.RUN,), footer=False, here=True),
    KeyAction("run_next", ("full_stop",), "next run", "Go to the next run of the group, as its table has them.", (View.RUN,)),
    KeyAction("run_before", ("comma",), "run before", "Go to the run before in the group's table.", (View.RUN,), footer=False),
    KeyAction(
        "files",
        ("f",),
        "files",
        "List the files that the agent made, the job kept or the sandbox has, and save one or all on this machine.",
        (View.RUN, View.JOB, View.SANDBOX),
        here=True,
    ),
    KeyAction(
        "halves",
        ("tab",),
        "processes",
        "Switch between the two tables: devices and their processes, your sandboxes and those of runs.",
        (View.GPUS, View.SANDBOXES),
        palette=False,
    ),
    KeyAction(
        "shell",
        ("exclamation_mark",),
        "shell",
        "Open a shell in the sandbox; its end leads back to the console.",
        (View.SANDBOXES, View.SANDBOX),
        changes=True,
        here=True,
    ),
    KeyAction("kill", ("x",), "kill", "Kill what is selected, after a question.", _ENDABLE, changes=True),
    KeyAction("extend", ("e",), "extend", "Give what is selected a higher cap.", (*_CAMPAIGN, *_SWEEPS, *_JOBS), changes=True),
    KeyAction(
        "raise_limit", ("e",), "raise limit", "Give the selected budget a higher limit, after a question.", (View.BUDGETS,), changes=True
    ),
    KeyAction(
        "retry",
        ("r",),
        "retry",
        "Run the selected unscored case again; on a group, every unscored case; on a sweep, every broken cell; a job's next attempt.",
        (*_CAMPAIGN, *_SWEEPS, *_JOBS),
        changes=True,
    ),
    KeyAction(
        "delete",
        ("ctrl+d",),
        "delete",
        "Delete what is selected and has ended, with all its records, after a question.",
        _DELETABLE,
        footer=False,
        changes=True,
    ),
    KeyAction("pause_sweep", ("p",), "pause", "Let no further cell of the sweep start; those that are going go on.", _SWEEPS, changes=True),
    KeyAction("kill_sweep", ("X",), "kill sweep", "Kill the whole sweep, after a question.", (View.SWEEP,), footer=False, changes=True),
    KeyAction("extend_sweep", ("E",), "sweep cap", "Raise the sweep's own cap.", (View.SWEEP,), changes=True),
    KeyAction("retry_sweep", ("R",), "retry all", "Run every broken cell of the sweep again.", (View.SWEEP,), footer=False, changes=True),
    KeyAction("mark", ("m",), "mark", "Mark the selected cell to be compared, or take its mark away.", (View.SWEEP,)),
    KeyAction(
        "compare", ("c",), "compare", "Compare two marked cells, or a marked one with the selected one, task by task.", (View.SWEEP,)
    ),
    KeyAction("layout", ("tab",), "table", "Switch between the grid and a table of the cells.", (View.SWEEP,), palette=False),
    KeyAction(
        View.RESULTS.value,
        ("v",),
        "results",
        "Show the results of what is selected: pass rate and errors, every verdict, what each cost.",
        (View.CAMPAIGNS, View.GROUP, *_JOBS, View.SWEEP),
    ),
    KeyAction(
        "compare_groups",
        ("c",),
        "compare",
        "Compare this group with another one, task by task; where two are picked, those.",
        (View.CAMPAIGNS, View.RESULTS, View.COMPARISON),
    ),
    KeyAction("all_tasks", ("a",), "all tasks", "Show all tasks, or only those that came out differently.", (View.COMPARISON,)),
    KeyAction("export", ("o",), "export", "Write the results to a file, as CSV or JSON.", (View.RESULTS,), here=True),
    KeyAction("fold", ("o",), "unfold", "Tell every run by itself, or many that wait for the same in one row again.", (View.QUEUE,)),
    KeyAction("narrow", ("a",), "one group", "Show the queue of the selected row's group alone, or of all again.", (View.QUEUE,)),
    KeyAction(
        "timeline",
        ("T",),
        "timeline",
        "Show when each run of the group queued, was prepared, ran, was held up and graded.",
        (View.QUEUE, View.GROUP, View.WHAT_IF),
        footer=False,
    ),
    KeyAction(
        "what_if",
        ("M",),
        "what if",
        "See when the group would end, and what it would reserve, with another maxActive.",
        (View.QUEUE, View.GROUP, View.TIMELINE),
        footer=False,
    ),
    KeyAction("earlier", ("left",), "earlier", "Show an earlier time.", (View.TIMELINE,)),
    KeyAction("later", ("right",), "later", "Show a later time.", (View.TIMELINE,)),
    KeyAction("zoom_in", ("plus", "equals_sign"), "closer", "Show less time in more detail.", (View.TIMELINE,)),
    KeyAction("zoom_out", ("minus",), "further", "Show more time in less detail.", (View.TIMELINE,)),
    KeyAction("whole", ("0",), "all", "Show all of the group's time.", (View.TIMELINE,)),
    KeyAction("follow", ("f",), "follow", "Go along with the present, or stay at the time that is shown.", (View.TIMELINE,)),
    KeyAction("max_active", ("m",), "another", "Forecast with another maxActive.", (View.WHAT_IF,)),
    KeyAction(
        "gold_check",
        ("c",),
        "gold check",
        "Put reference solutions and empty answers through the grader, after a question; end a check that goes on.",
        (View.ENVIRONMENTS, View.ENVIRONMENT),
        changes=True,
    ),
    KeyAction("split", ("tab",), "split", "Show the tasks of the next split.", (View.ENVIRONMENT,), palette=False),
    KeyAction("follow_log", ("f",), "follow", "Go to the end of the log, and along with it.", (View.LOG,)),
    KeyAction("log_level", ("v",), "level", "Show everything, warnings and errors, or errors only.", (View.LOG,)),
    KeyAction("only_found", ("o",), "only these", "Show only the lines with the words that were found, or all again.", (View.LOG,)),
    KeyAction("wrap", ("m",), "wrap", "Break long lines, or cut them.", (View.LOG,)),
    KeyAction("launch", ("l",), "launch", "Estimate a spec file and launch it.", _LIVE, changes=True, here=True),
    KeyAction(
        "new_spec", ("c",), "create", "Write a new spec: by a few questions, or from a beginning for its kind.", (View.SPECS,), here=True
    ),
    KeyAction("look_again", ("r",), "look again", "Look at the files again.", (View.SPECS,), footer=False),
    KeyAction("complete", ("tab",), "complete", "Complete what is typed, or list what can stand here.", (View.SPEC,), palette=False),
    KeyAction("spec_help", ("f1",), "help", "Show all keys.", (View.SPEC,), palette=False),
    KeyAction("save_spec", ("ctrl+o", "f2"), "save", "Save the text.", (View.SPEC,), palette=False, here=True),
    KeyAction("next_problem", ("ctrl+n", "f3"), "next problem", "Go to the next problem.", (View.SPEC,), palette=False),
    KeyAction("leave_spec", ("escape",), "back", "Go back; asks where something is not saved.", (View.SPEC,), palette=False),
    KeyAction(
        "launch_spec", ("ctrl+l", "f9"), "launch", "Save, estimate and launch it.", (View.SPEC,), palette=False, changes=True, here=True
    ),
    KeyAction(
        "estimate_spec", ("ctrl+r", "f8"), "estimate", "Show what it may cost, and every problem of it.", (View.SPEC,), palette=False
    ),
    KeyAction(
        "differences",
        ("ctrl+g", "f5"),
        "differences",
        "Show what it would change of what is applied.",
        (View.SPECS, View.SPEC),
        palette=False,
    ),
    KeyAction("template", ("ctrl+t", "f4"), "template", "Put in a beginning for another kind.", (View.SPEC,), palette=False),
    KeyAction("own_editor", ("alt+e", "f12"), "$EDITOR", "Edit the file in $EDITOR.", (View.SPECS, View.SPEC), footer=False, here=True),
    KeyAction("take_disk", ("alt+r",), "take the file's", "Show the file as it is on disk now.", (View.SPEC,), footer=False, palette=False),
    KeyAction("kill_group", ("X",), "kill group", "Kill the whole group, after a question.", (View.GROUP,), footer=False, changes=True),
    KeyAction("extend_group", ("E",), "group cap", "Raise the group's own cap.", (View.GROUP,), changes=True),
    KeyAction(
        "extend_waiting", ("C",), "extend all", "Give every run that waits at its own cap one new, higher cap.", _TABLES, changes=True
    ),
    KeyAction("retry_group", ("R",), "retry all", "Run every unscored case of the group again.", (View.GROUP,), footer=False, changes=True),
    KeyAction("resume", ("u",), "resume", "Let what is interrupted or paused go on.", (*_CAMPAIGN, *_SWEEPS), footer=False, changes=True),
    KeyAction("previous", ("S",), "predecessor", "Open the run whose place this one took.", (View.RUN,), footer=False),
    KeyAction("next", ("s",), "successor", "Open the run that took this one's place.", (View.RUN,), footer=False),
    KeyAction("sort", ("s",), "sort", "Sort by the next column.", _ROWS, footer=False),
    KeyAction("reverse", ("S",), "reverse", "Turn the order round.", _ROWS, footer=False),
    KeyAction("sort_further", ("alt+s",), "sort further", "Sort rows that are alike also by another column.", _ROWS, footer=False),
    KeyAction(
        "columns", ("O",), "columns", "Choose which columns are shown, in which order, and how the rows are sorted.", _ROWS, footer=False
    ),
    KeyAction("pick", ("space",), "pick", "Pick the selected row for an action on several, or let go of it.", _PICKS),
    KeyAction("pick_range", ("V",), "pick up to here", "Pick all rows from the one picked last to the selected one.", _PICKS, footer=False),
    KeyAction("pick_all", ("a",), "pick all", "Pick all rows that the filter keeps.", _PICKS, footer=False),
    KeyAction("pick_none", ("A",), "pick none", "Let go of all that is picked.", _PICKS, footer=False),
    KeyAction(
        "attempts",
        ("p",),
        "earlier tries",
        "Show the earlier attempts at each case too, or only the one that counts.",
        (View.GROUP,),
        footer=False,
    ),
    KeyAction(
        "follow_runs", ("f",), "follow", "Let the cursor go along with the run that started or changed last.", (View.GROUP,), footer=False
    ),
    KeyAction(
        "copy",
        ("y",),
        "copy",
        "Copy the selected row or part, or what the mouse marked, to the clipboard; to a file, too, where the terminal has none.",
        (View.RUN, View.JOB, View.SANDBOX, View.ENVIRONMENT, View.LOG, View.ESTIMATE, *_ROWS),
        footer=False,
    ),
    KeyAction("jump", ("colon",), "go", "Go to a view by its name.", _LIVE, palette=False),
    *_JUMPS,
    KeyAction("theme", ("t",), "theme", "Choose the colours; each theme is shown as you move to it.", _LIVE, footer=False),
    KeyAction(
        "undo",
        ("U",),
        "undo",
        "Undo the last thing that you did, where it can be: pauses, filters, orders, picks; or say why it cannot.",
        _LIVE,
        footer=False,
    ),
    KeyAction(
        "notices",
        ("N",),
        "notices",
        "List what was told since the console opened: ends, stalls, thresholds, failures.",
        _LIVE,
        footer=False,
    ),
    KeyAction("start", ("enter", "L"), "launch", "Launch what was estimated.", (View.ESTIMATE,), palette=False, changes=True),
    KeyAction("reload", ("r",), "read again", "Read the file again after a change.", (View.ESTIMATE,), palette=False),
    KeyAction("minutes", ("m",), "minutes a case", "Estimate with another number of minutes a case.", (View.ESTIMATE,), palette=False),
    KeyAction("leave", ("escape", "backspace"), "cancel", "Go back and launch nothing.", (View.ESTIMATE,), palette=False),
    KeyAction("pause", ("P",), "pause", "Stop the recording, or let it go on; from its end it begins again.", _LIVE, playback=True),
    KeyAction("faster", ("greater_than_sign",), "faster", "Show the recording faster.", _LIVE, playback=True),
    KeyAction("slower", ("less_than_sign",), "slower", "Show the recording more slowly.", _LIVE, playback=True),
    KeyAction("ahead", ("right",), "ahead", "Jump ahead in the recording.", _NO_GRID, footer=False, playback=True),
    KeyAction("behind", ("left",), "behind", "Jump back in the recording.", _NO_GRID, footer=False, playback=True),
    KeyAction("place", ("at",), "place", "Jump to a place of the recording: 1:30, or 50%.", _LIVE, playback=True),
    KeyAction("palette", ("ctrl+p",), "palette", "Find an action by its name.", _LIVE, footer=False, palette=False),
    KeyAction("help", ("question_mark", "f1"), "help", "Show all keys.", (*_LIVE, View.ESTIMATE), palette=False),
    KeyAction("quit", ("q", "ctrl+c"), "quit", "Leave; asks first where work would stop.", (*_LIVE, View.ESTIMATE)),
)

_BY_ID = {action.id: action for action in KEY_ACTIONS}


def refusal(action: KeyAction, situation: Situation) -> str:
    """Why an action cannot be done from there, as a sentence; empty where it can."""
    if action.playback and not situation.recording:
        return "This is no recording: there is nothing to pause or to go back in."
    if situation.recording and (action.changes or action.here):
        return f"This is a recording of {situation.recording}: everything in it can be looked at, and nothing done."
    if situation.browser and action.here:
        return "A browser has no part in the files of the machine that it shows: do this in a console there."
    if situation.viewer and action.changes:
        return "You look on as a viewer: you see everything and change nothing."
    return ""


def actions_of(view: View, situation: Situation = USUAL) -> tuple[KeyAction, ...]:
    """What works in a view from there, in the order of the list, each with the keys that it has there."""
    return tuple(_with_keys(action, situation) for action in KEY_ACTIONS if view in action.views and not refusal(action, situation))


def every_action_of(view: View) -> tuple[KeyAction, ...]:
    """What works in a view from anywhere."""
    return tuple(action for action in KEY_ACTIONS if view in action.views)


def _with_keys(action: KeyAction, situation: Situation) -> KeyAction:
    if action.id not in situation.keys:
        return action
    return replace(action, keys=(*situation.keys[action.id], *(key for key in action.keys if key == ALWAYS_LEAVES)))


def key_words(action_id: str, situation: Situation = USUAL) -> str:
    """How a sentence names what a person presses: the first key of an action, or the way to it by the palette; the last one of a way to
    move, for that is a letter which every keyboard has.
    """
    if action_id in MOVE_BY_ID:
        return shown_key((situation.keys.get(action_id) or MOVE_BY_ID[action_id].keys)[-1])
    keys = _with_keys(_BY_ID[action_id], situation).keys
    if keys:
        return shown_key(keys[0])
    return f"{key_words('palette', situation)} {_BY_ID[action_id].word}" if action_id != "palette" else "the palette:"


def action_by_id(action_id: str) -> KeyAction:
    """The action of that id. Raises KeyError for one that is not in the list."""
    return _BY_ID[action_id]


def opened_view(action_id: str) -> View | None:
    """The view that an action goes to; None for an action that does something else."""
    return next((entry.view for entry in destinations() if entry.view.value == action_id), None)


KeyNamer = Callable[[str], str]
"""Gives what a sentence calls the key of an action: a person may have chosen another."""


def own_key(action_id: str) -> str:
    """The key that an action has where nobody has chosen another."""
    return key_words(action_id)


def keys_markdown(situation: Situation = USUAL) -> str:
    """docs/keys.md; with a person's own keys, the same of theirs."""
    lines = ["# Keys", "", "Made from `nodus_tui/view_state/key_actions.py` by `python scripts/keys_doc.py`; do not edit by hand.", ""]
    moves = (f"| {keys} | {what} |" for keys, what in moving(situation.keys))
    lines += ["## Moving", "", "| key | what it does |", "|---|---|", *moves, ""]
    for view in View:
        lines += [f"## {VIEW_TITLES[view]}", "", "| key | action | what it does |", "|---|---|---|"]
        for action in actions_of(view, situation):
            keys = ", ".join(f"`{shown_key(key)}`" for key in action.keys) or (f"`:{action.id}`" if opened_view(action.id) else "palette")
            lines.append(f"| {keys} | {action.id} | {action.help} |")
        lines.append("")
    lines += [
        "## In a recording",
        "",
        "Beside what the views have ([replay.md](replay.md)).",
        "",
        "| key | action | what it does |",
        "|---|---|---|",
    ]
    for action in (_with_keys(action, situation) for action in KEY_ACTIONS if action.playback):
        keys = ", ".join(f"`{shown_key(key)}`" for key in action.keys) or "palette"
        lines.append(f"| {keys} | {action.id} | {action.help} |")
    lines += [
        "",
        "In a dialog: Tab or the arrows choose a button, Enter presses it, Escape cancels. Cancel is chosen at first.",
        "",
        "Keys that tmux, screen or a terminal's flow control keep for themselves (ctrl+a, b, q, s, z) are not used.",
        "Other keys of your own: [console.md](console.md#keys-of-your-own).",
        "",
    ]
    return "\n".join(lines)
