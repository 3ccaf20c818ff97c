"""The help of a view: its keys, the same as text, and the signs that it shows; nothing of other views. Pure."""

from collections.abc import Iterable, Mapping

from nodus_tui.view_state.cells import Line, Span, Tone, hint, line, muted
from nodus_tui.view_state.key_actions import USUAL, VIEW_TITLES, Situation, View, actions_of, opened_view
from nodus_tui.view_state.key_moves import moving
from nodus_tui.view_state.key_names import shown_key
from nodus_tui.view_state.result_cases import SEVERAL_SIGNS, STATE_SIGNS
from nodus_tui.view_state.run_story import STORY_SIGNS
from nodus_tui.view_state.spec_files import STANDING_SIGNS
from nodus_tui.view_state.text_equivalents import TEXT_EQUIVALENTS
from nodus_tui.view_state.words import BOX_SIGNS, BUDGET_SIGNS, GROUP_SIGNS, JOB_SIGNS, RUN_SIGNS, VERDICT_SIGNS, Sign
from nodus_tui.view_state.wrapping import flowed

HELP_INDENT = 16
"""Cells of the keys before what they do: one more than the longest keys take."""

_Row = tuple[str, tuple[Span, ...]]
"""What shows the signs, and the signs with their words."""


def _row(name: str, signs: Iterable[Sign]) -> _Row:
    return name, tuple(Span(f"{sign.glyph} {sign.word}", sign.tone) for sign in signs)


_GROUPS = _row("groups", GROUP_SIGNS.values())
_RUNS = _row("runs", RUN_SIGNS.values())
_VERDICTS = _row("verdicts", VERDICT_SIGNS.values())
_CASES = _row("other cases", (sign for _, sign in STATE_SIGNS.values()))
_JOBS = _row("jobs", JOB_SIGNS.values())
_BOXES = _row("sandboxes", BOX_SIGNS.values())
_CHECKS: _Row = (
    "gold checks",
    (
        Span("✓ no task at fault", Tone.GOOD),
        Span("! tasks at fault, or not usable here", Tone.BAD),
        Span("~ of another version", Tone.MARK),
    ),
)

_SIGNS: Mapping[View, tuple[_Row, ...]] = {
    View.CAMPAIGNS: (_GROUPS,),
    View.GROUP: (_VERDICTS, _RUNS, _GROUPS),
    View.RUN: (_VERDICTS, _RUNS),
    View.RESULTS: (_VERDICTS, _CASES),
    View.COMPARISON: (_VERDICTS, _row("repetitions", SEVERAL_SIGNS.values()), _CASES),
    View.JOBS: (_JOBS,),
    View.JOB: (_JOBS,),
    View.GPUS: (
        ("devices", (Span("→ given to a run, a job or a sandbox", Tone.KEY), Span("! look at this", Tone.WARN))),
        ("processes", (Span("□ in a sandbox of no run or job here", Tone.MUTED),)),
    ),
    View.BUDGETS: (_row("budgets", BUDGET_SIGNS.values()),),
    View.SANDBOXES: (_BOXES,),
    View.SANDBOX: (_BOXES,),
    View.SWEEPS: (_row("sweeps", GROUP_SIGNS.values()),),
    View.SWEEP: (_row("cells", GROUP_SIGNS.values()),),
    View.QUEUE: (_RUNS, _GROUPS, _JOBS, _BOXES),
    View.TIMELINE: (_row("times", STORY_SIGNS.values()), _VERDICTS, _RUNS),
    View.SPECS: (("files", (*STANDING_SIGNS.values(), Span("draft typed and not saved", Tone.MARK))),),
    View.SPEC: (
        ("beside a line", (Span("! it has a problem", Tone.BAD),)),
        ("differences", (Span("+ applying puts it in", Tone.GOOD), Span("- applying takes it away", Tone.BAD))),
    ),
    View.ENVIRONMENTS: (_CHECKS,),
    View.ENVIRONMENT: (_CHECKS,),
    View.ESTIMATE: (("estimates", (Span("✓ room for all", Tone.GOOD), Span("! look at this before you launch", Tone.WARN))),),
}
_MARKED = (
    View.CAMPAIGNS,
    View.GROUP,
    View.RUN,
    View.RESULTS,
    View.COMPARISON,
    View.SWEEPS,
    View.SWEEP,
    View.QUEUE,
    View.TIMELINE,
    View.WHAT_IF,
    View.ESTIMATE,
)
"""Views with figures that may be estimated, unconfirmed, simulated or notional."""
_MARKS: _Row = ("marks", tuple(Span(words, Tone.MARK) for words in ("~ an estimate", "u unconfirmed spend", "simulated", "notional")))
_RATED = (View.CAMPAIGNS, View.GROUP, View.RESULTS, View.COMPARISON, View.SWEEP)
"""Views with pass rates."""


def help_lines(view: View, situation: Situation = USUAL, width: int = 72) -> list[Line]:
    """All of it, from the list of actions and the signs that a view has; the signs are laid out in `width` cells, none without its word."""
    lines: list[Line] = [line(Span(f"Keys: {VIEW_TITLES[view]}", Tone.TITLE), muted("   "), *hint("Esc", " closes", "close")), ()]
    for action in actions_of(view, situation):
        keys = " ".join(shown_key(key) for key in action.keys) or (f":{action.id}" if opened_view(action.id) else "palette")
        lines.append(line(Span(keys.ljust(HELP_INDENT), Tone.KEY), action.help))
    lines.append(())
    lines.extend(line(Span(keys.ljust(HELP_INDENT), Tone.KEY), what) for keys, what in moving(situation.keys, view))
    lines += [(), line(Span("The same as text", Tone.TITLE), muted("   for pipes, screen readers and CI")), ()]
    lines.extend(line(f"nodus-tui {command}") for command in TEXT_EQUIVALENTS[view])
    signs = list(_sign_lines(view, width))
    return [*lines, (), line(Span("Signs", Tone.TITLE)), (), *signs] if signs else lines


def _sign_lines(view: View, width: int) -> Iterable[Line]:
    for name, signs in (*_SIGNS.get(view, ()), *((_MARKS,) if view in _MARKED else ())):
        yield from flowed(muted(name.ljust(HELP_INDENT)), signs, width)
    if view in _RATED:
        yield ()
        yield line(
            muted("pass rate".ljust(HELP_INDENT)),
            "Correct ÷ (Correct + Incorrect + Invalid) ± half of its 95% interval in points, and how many of all cases are scored. ",
            "What failed outside the model stays unscored: it is never a zero.",
        )
