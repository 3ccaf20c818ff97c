"""Progress off a terminal: lines on change only, and not too many."""

import pytest
from cli_builders import group_status

from nodus_tui.cli.progress import LINE_SECONDS, LineDisplay, QuietDisplay, display_for, progress_line
from nodus_tui.contract.phases import GroupPhase


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_line_has_progress_rate_with_coverage_and_money() -> None:
    line = progress_line("hello", group_status(simulated=True))
    assert line.startswith("hello: Running, 4/10 ended, 2 going; 66.7%")
    assert "3/10 scored" in line
    assert "$0.35 of $1.00" in line
    assert line.endswith("simulated")


def test_what_is_unchanged_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with LineDisplay(clock) as display:
        for _ in range(5):
            display.show({"hello": group_status()})
            clock.now += 10 * LINE_SECONDS
    assert len(lines(capsys)) == 1


def test_changes_are_told_at_most_every_few_seconds_and_the_last_one_always(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with LineDisplay(clock) as display:
        for pending in (6, 5, 4, 3):
            display.show({"hello": group_status(pending=pending)})
            clock.now += LINE_SECONDS / 100
    told = lines(capsys)
    assert len(told) == 2
    assert "7/10 ended" in told[-1]


def test_a_new_phase_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with LineDisplay(Clock()) as display:
        display.show({"hello": group_status()})
        display.show({"hello": group_status(phase=GroupPhase.STALLED)})
    assert [line.split(",")[0] for line in lines(capsys)] == ["hello: Running", "hello: Stalled"]


def test_notes_cannot_smuggle_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    QuietDisplay().note("see \x1b[2J[bold]x[/bold]")
    assert capsys.readouterr().err == "nodus-tui: see ␛[2J[bold]x[/bold]\n"


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with display_for(quiet=True) as display:
        display.show({"hello": group_status()})
    assert lines(capsys) == []
