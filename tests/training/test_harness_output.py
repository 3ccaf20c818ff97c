"""What of the harness's output a job's log leaves out, however it comes in pieces."""

import pytest

from local_backend.training.sieve import Sieve

NOISE = b"fatal: not a git repository (or any of the parent directories): .git\n"
TABLE = b"|Tasks|Value|\n|environment|999|\n"
BARS = b"\rRunning: 50%|#####     | 1/2\rRunning: 100%|##########| 2/2\n"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_what_is_no_failure_and_no_score_is_left_out_and_all_else_stays(size: int) -> None:
    whole = b"loading\n" + NOISE + b"fatal: something else\n" + BARS + TABLE + b"done"
    for tables, kept in ((True, TABLE), (False, b"")):
        sieve = Sieve(tables=tables)
        passed = b"".join(sieve.passed(whole[place : place + size]) for place in range(0, len(whole), size)) + sieve.rest()
        assert passed == b"loading\nfatal: something else\n" + BARS + kept + b"done"


def test_a_bar_is_passed_on_as_it_is_drawn_and_what_was_held_back_comes_at_the_end() -> None:
    sieve = Sieve(tables=False)
    assert sieve.passed(b"\rRunning: 50%|") == b"\rRunning: 50%|"
    assert sieve.passed(b"####\nfatal: not") == b"####\n"
    assert sieve.rest() == b"fatal: not"
