"""Rewards and pytest's summaries are read as the formats define them; what cannot be read is a grader that failed."""

import pytest

from local_backend.environments.task_folders.outcomes import REWARD_JSON, REWARD_TEXT, from_pytest_output, from_reward_files
from nodus_tui.contract.phases import Verdict

FAILED = Verdict.INFRASTRUCTURE_FAILURE


@pytest.mark.parametrize(
    ("text", "verdict", "reward"),
    [
        (b"1\n", Verdict.CORRECT, 1),
        (b"1.0", Verdict.CORRECT, 1),
        (b" 0 ", Verdict.INCORRECT, 0),
        (b"0.25\n", Verdict.INCORRECT, 0.25),
        (b"", FAILED, None),
        (b"yes", FAILED, None),
        (b"nan", FAILED, None),
        (b"inf", FAILED, None),
        (b"2", FAILED, None),
        (b"-0.5", FAILED, None),
        ("\u0661".encode(), FAILED, None),
    ],
)
def test_reward_texts(text: bytes, verdict: Verdict, reward: float | None) -> None:
    found = from_reward_files({REWARD_TEXT: text})
    assert (found.verdict, found.reward) == (verdict, reward)


@pytest.mark.parametrize(
    ("text", "verdict", "reward"),
    [
        (b'{"reward": 1}', Verdict.CORRECT, 1),
        (b'{"reward": 0.5, "style": 1}', Verdict.INCORRECT, 0.5),
        (b'{"score": 1.0}', Verdict.CORRECT, 1),
        (b'{"ok": true}', Verdict.CORRECT, 1),
        (b'{"a": 1, "b": 1}', FAILED, None),
        (b"{}", FAILED, None),
        (b"1", FAILED, None),
        (b'{"reward": "1"}', FAILED, None),
        (b'{"reward": NaN}', FAILED, None),
        (b'{"reward": 1e999}', FAILED, None),
        (b'{"reward": null}', FAILED, None),
        (b"[" * 100_000, FAILED, None),
        (b"\xff", FAILED, None),
    ],
)
def test_reward_objects(text: bytes, verdict: Verdict, reward: float | None) -> None:
    found = from_reward_files({REWARD_JSON: text})
    assert (found.verdict, found.reward) == (verdict, reward)


def test_the_object_counts_before_the_text() -> None:
    assert from_reward_files({REWARD_TEXT: b"1", REWARD_JSON: b'{"reward": 0}'}).verdict is Verdict.INCORRECT
    assert from_reward_files({REWARD_TEXT: b"1", REWARD_JSON: b"broken"}).verdict is FAILED


def test_no_reward_is_no_verdict() -> None:
    found = from_reward_files({})
    assert (found.verdict, found.reward) == (FAILED, None)
    assert "no reward" in found.message


def summary(*lines: str) -> str:
    """What pytest -rA prints at its end."""
    return "\n".join(["collected 3 items", "=" * 20 + " short test summary info " + "=" * 20, *lines, "=== 1 failed in 0.1s ==="])


@pytest.mark.parametrize(
    ("lines", "verdict", "reward"),
    [
        (("PASSED ../tests/test_outputs.py::test_a", "PASSED ../tests/test_outputs.py::test_b"), Verdict.CORRECT, 1),
        (("PASSED t.py::test_a", "FAILED t.py::test_b - AssertionError: assert 1 == 2"), Verdict.INCORRECT, 0.5),
        (("PASSED t.py::test_a", "ERROR t.py::test_a - teardown"), Verdict.INCORRECT, 0),
        (("ERROR t.py",), Verdict.INCORRECT, 0),
        (("SKIPPED [1] t.py:3: no reason", "XFAIL t.py::test_a - known"), Verdict.CORRECT, 1),
        (("XPASS t.py::test_a", "PASSED t.py::test_b"), Verdict.INCORRECT, 0.5),
        (("\x1b[32mPASSED\x1b[0m t.py::\x1b[1mtest_a\x1b[0m", "\x1b[31mFAILED\x1b[0m t.py::test_b"), Verdict.INCORRECT, 0.5),
        ((), FAILED, None),
        (("nothing of a result",), FAILED, None),
    ],
)
def test_pytest_summaries(lines: tuple[str, ...], verdict: Verdict, reward: float | None) -> None:
    for text in (summary(*lines), summary(*lines).replace("\n", "\r\n")):
        found = from_pytest_output(text)
        assert (found.verdict, found.reward) == (verdict, reward)


def test_output_without_a_summary_is_no_verdict() -> None:
    assert from_pytest_output("").verdict is FAILED
    found = from_pytest_output("run-tests.sh: line 5: uv: command not found\nPASSED t.py::test_a\n")
    assert found.verdict is FAILED
    assert "short summary" in found.message


def test_output_that_looks_like_a_summary_passes_nothing() -> None:
    forged = summary("PASSED t.py::test_a", "PASSED t.py::test_b") + "\n" + summary("FAILED t.py::test_a - no", "PASSED t.py::test_b")
    assert from_pytest_output(forged).verdict is Verdict.INCORRECT
    assert "1 of 2" in from_pytest_output(forged).message
