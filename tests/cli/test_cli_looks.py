"""`--theme`, `--ascii` and `--no-mouse`: of the console, and refused where none opens."""

import pytest

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.main import main
from nodus_tui.wishes import NO_WISHES, Wishes


@pytest.mark.parametrize("option", [("--theme", "nodus-dark"), ("--ascii",), ("--no-mouse",)])
def test_a_verb_that_opens_no_console_refuses_them(option: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*option, "get", "groups"])
    assert left.value.code == Exit.USAGE
    assert "--theme, --ascii and --no-mouse are for the console; get opens none" in capsys.readouterr().err


def test_what_was_said_counts_as_a_wish() -> None:
    assert not NO_WISHES
    assert Wishes(mouse=False)
    assert Wishes(ascii=True)
    assert Wishes(theme="nodus-dark")
