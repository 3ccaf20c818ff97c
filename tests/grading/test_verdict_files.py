"""What a grader program writes, read: a verdict, a bare reward, or a grader that failed. Nothing in between."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.grading.verdicts import LARGEST_VERDICT, from_reward, from_verdict
from nodus_tui.contract.phases import Verdict


def read(**told: Any) -> tuple[Verdict, float | None, str]:
    judgement = from_verdict(json.dumps(told).encode())
    return judgement.verdict, judgement.reward, judgement.message


def test_a_verdict_with_and_without_a_reward() -> None:
    assert read(verdict="Correct") == (Verdict.CORRECT, 1.0, "")
    assert read(verdict="Incorrect", reward=0.25, message="3 of 4") == (Verdict.INCORRECT, 0.25, "3 of 4")
    assert read(verdict="InvalidOutput", message="no file") == (Verdict.INVALID_OUTPUT, 0.0, "no file")
    assert read(verdict="InfrastructureFailure", reward=1, message="no data") == (Verdict.INFRASTRUCTURE_FAILURE, None, "no data")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"Correct",
        b'"Correct"',
        b'["Correct"]',
        b"{}",
        b'{"verdict": "correct"}',
        b'{"verdict": ["Correct"]}',
        b'{"verdict": true}',
        b'{"verdict": "Correct", "reward": 1.01}',
        b'{"verdict": "Correct", "reward": -0.01}',
        b'{"verdict": "Correct", "reward": NaN}',
        b'{"verdict": "Correct", "reward": Infinity}',
        b'{"verdict": "Correct", "reward": "1"}',
        b'{"verdict": "Correct", "reward": true}',
        b'{"verdict": "Correct", "message": 5}',
        b'{"verdict": "Correct"}{"verdict": "Correct"}',
        b'{"verdict": "Incorrect", "verdict": "Correct"}',
        b'{"verdict": "Correct", "reward": 0, "reward": 1}',
        b'{"verdict": "Correct"',
        b"[" * 20_000,
        b'{"verdict": "Correct", "message": "' + b"x" * LARGEST_VERDICT + b'"}',
    ],
)
def test_a_malformed_verdict_is_a_failure_of_the_grader(content: bytes) -> None:
    judgement = from_verdict(content)
    assert (judgement.verdict, judgement.reward) == (Verdict.INFRASTRUCTURE_FAILURE, None)
    assert judgement.message


@given(st.binary(max_size=200))
def test_no_bytes_are_anything_but_a_judgement(content: bytes) -> None:
    assert from_verdict(content).verdict in set(Verdict)
    assert from_reward(content, 1).verdict in set(Verdict)


def test_a_long_message_is_cut_and_lone_surrogates_are_cleaned() -> None:
    assert len(read(verdict="Incorrect", message="x" * 5000)[2]) == 2001
    assert read(verdict="Incorrect", message="\ud800")[2] == "\ufffd"


@pytest.mark.parametrize(
    ("text", "threshold", "verdict"), [("1", 1, "Correct"), ("1.0\n", 1, "Correct"), ("0.99", 1, "Incorrect"), ("0.5", 0.5, "Correct")]
)
def test_a_bare_reward_is_correct_from_its_threshold(text: str, threshold: float, verdict: str) -> None:
    judgement = from_reward(text.encode(), threshold)
    assert (judgement.verdict, judgement.reward) == (verdict, float(text))


@pytest.mark.parametrize("text", ["", "nan", "inf", "2", "-1", "yes", "1 1", "٣", "1" + " " * 200 + "x"])
def test_a_reward_that_is_none_is_a_failure_of_the_grader(text: str) -> None:
    if text.startswith("1 ") and len(text) > 100:
        assert from_reward(text.encode(), 1).verdict is Verdict.CORRECT  # Only the first hundred bytes are looked at.
    else:
        assert from_reward(text.encode(), 1).verdict is Verdict.INFRASTRUCTURE_FAILURE
