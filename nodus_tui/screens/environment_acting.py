"""The gold check from a view: the question before, the check beside the screen, and the sentence after."""

from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state.cells import Tone, line, muted
from nodus_tui.view_state.environments import EnvironmentRow
from nodus_tui.widgets.dialogs import PromptDialog

_FEW = "20"
"""Tasks of each split that are proposed: enough to see whether a grader works at all."""


async def gold_check(screen: ViewScreen, row: EnvironmentRow) -> None:
    """Ask how many tasks, then check; one that goes on is ended instead."""
    desk = screen.services.environments
    if desk.stop(row.name):
        screen.notice(f"The check of {row.name} ends.", Tone.WARN)
        return
    if row.problem:
        screen.notice(f"{row.name} cannot be used here: {row.problem}", Tone.WARN)
        return
    lines = (
        line("Each task's reference solution and an empty answer go through its grader."),
        line(
            muted(
                "No model is asked and nothing is charged; it takes time of the scheduler's machine"
                + (", in sandboxes." if row.in_sandbox else ".")
            )
        ),
        (),
        line(
            "How many tasks of each split? Nothing means all of them"
            + (", of a split that makes as many as are asked for the first 100." if row.endless else ".")
        ),
    )
    asked = await screen.app.push_screen_wait(PromptDialog(f"Gold check of {row.reference}", lines, value=_FEW, problem=_count_problem))
    if asked is None:
        return
    typed = asked[0].strip()
    app = screen.app

    def changed() -> None:
        front = app.screen
        if isinstance(front, ViewScreen) and front.is_mounted:
            front.show()

    async def checked() -> None:
        ended = await desk.check(row.name, tasks=int(typed) if typed else None, changed=changed)
        front = app.screen if isinstance(app.screen, ViewScreen) else screen
        found = desk.state.rows.find(row.name)
        faults = found.checked.problems if found is not None and found.checked is not None else 0
        if ended:
            front.notice(f"! The check of {row.name} is not done: {ended}", Tone.BAD)
        elif faults:
            front.notice(f"! {row.name}: {faults} task{'' if faults == 1 else 's'} at fault.", Tone.BAD)
        else:
            front.notice(f"✓ {row.name}: no task at fault.", Tone.GOOD)

    # The app's, not the view's: who leaves the view has not ended the check.
    app.run_worker(checked(), exit_on_error=True)


def _count_problem(text: str) -> str:
    typed = text.strip()
    if not typed:
        return ""
    return "" if typed.isascii() and typed.isdigit() and 0 < int(typed) <= 1_000_000 else "Type a number from 1 on, or nothing."
