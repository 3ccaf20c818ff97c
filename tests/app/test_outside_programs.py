"""Which program reads or edits a text: the person's own, else one that is there and can do with the terminal."""

from pathlib import Path

import pytest

from nodus_tui.screens.outside import program_for


@pytest.fixture
def programs(tmp_path: Path) -> str:
    for name in ("less", "more", "vi"):
        (tmp_path / name).write_text("", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


def test_the_persons_own_come_first(programs: str) -> None:
    assert program_for("pager", {"PAGER": "less -R", "PATH": programs}) == ["less", "-R"]
    assert program_for("editor", {"EDITOR": "vi", "VISUAL": "code --wait", "PATH": programs}) == ["code", "--wait"]
    assert program_for("editor", {"EDITOR": "vi", "VISUAL": " ", "PATH": programs}) == ["vi"]


def test_without_any_what_is_there_is_taken(programs: str) -> None:
    assert program_for("pager", {"PATH": programs, "TERM": "xterm"}) == [f"{programs}/less"]
    assert program_for("pager", {"PATH": programs, "TERM": "dumb"}) == [f"{programs}/more"]
    assert program_for("editor", {"PATH": programs}) == [f"{programs}/vi"]
    assert program_for("editor", {"PATH": "/nowhere"}) == []


def test_one_that_is_no_command_line_is_told() -> None:
    with pytest.raises(ValueError, match="quotation"):
        program_for("pager", {"PAGER": "less 'x"})
