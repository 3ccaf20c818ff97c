"""States in words: each thing is told once."""

import pytest

from nodus_tui.view_state.words import phase_words


@pytest.mark.parametrize(
    ("phase", "reason", "message", "told"),
    [
        ("Running", None, "", "Running"),
        ("Failed", "NonZeroExit", "exit code 3", "Failed: NonZeroExit: exit code 3"),
        ("Superseded", "Superseded", "superseded by a-1", "Superseded by a-1"),
        ("Interrupted", "Interrupted", "the scheduler was stopped", "Interrupted: the scheduler was stopped"),
        ("Pending", None, "pendingness", "Pending: pendingness"),
    ],
)
def test_a_phase_its_reason_and_its_message_say_nothing_twice(phase: str, reason: str | None, message: str, told: str) -> None:
    assert phase_words(phase, reason, message) == told
