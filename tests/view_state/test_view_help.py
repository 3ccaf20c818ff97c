"""The help of each view: what it has of its own, and nothing of others."""

from itertools import takewhile

import pytest

from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.key_actions import Situation
from nodus_tui.view_state.view_help import HELP_INDENT, help_lines
from nodus_tui.view_state.views import View
from nodus_tui.view_state.wrapping import wrapped


def told(view: View, situation: Situation | None = None) -> str:
    """The words of a view's help."""
    return "\n".join(plain(each) for each in help_lines(view, situation or Situation()))


def test_where_text_is_written_letters_are_no_keys() -> None:
    shown = told(View.SPEC)
    assert "k j" not in shown
    assert "g G" not in shown
    assert "ctrl+z ctrl+y" in shown
    assert "↑ ↓ or k j" in told(View.GROUP)


@pytest.mark.parametrize("view", [View.SPEC, View.SPECS, View.LOG, View.GPUS, View.ESTIMATE, View.JOBS, View.BUDGETS])
def test_signs_of_runs_and_verdicts_stand_where_runs_do(view: View) -> None:
    assert "Superseded" not in told(view)
    assert "✗ Incorrect" not in told(view)
    assert "pass rate  " not in told(view)


def test_each_view_has_the_signs_that_it_shows() -> None:
    assert "✗ Incorrect" in told(View.RUN)
    assert "» Superseded" in told(View.GROUP)
    assert "‖ Blocking" in told(View.BUDGETS)
    assert "± partly applied" in told(View.SPECS)
    assert "► Serving" in told(View.JOBS)
    assert "Signs" not in told(View.LOG)


@pytest.mark.parametrize("view", list(View))
def test_the_mouse_sorts_where_there_are_columns_only(view: View) -> None:
    sorts = any(each.startswith("s ") for each in told(view).splitlines() if "Sort by the next column" in each)
    assert ("a column's title sorts" in " ".join(told(view).split())) is sorts


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("width", [44, 57, 66])
def test_no_line_of_signs_ends_with_a_sign_whose_word_stands_below(view: View, width: int) -> None:
    lines = [plain(each) for each in wrapped(help_lines(view, Situation(), width), width, hang=HELP_INDENT)]
    signs = lines[lines.index("Signs") :] if "Signs" in lines else []
    signs = list(takewhile(lambda text: not text.startswith("pass rate"), signs))
    assert not [text for text in signs if text.split() and len(text.split()[-1]) == 1 and not text.split()[-1].isalnum()]


def test_several_answers_to_a_task_have_their_signs_told() -> None:
    assert "± some correct" in told(View.COMPARISON)
