"""From the files that a grader program wrote to a judgement. Pure.

`verdict.json` holds a verdict, and if wanted a reward and a message; a reward file holds a number. Anything else is a grader that failed.
"""

import json
import math

from local_backend.environments.protocol import clean_text
from local_backend.environments.secret_tasks import Judgement, failure
from nodus_tui.contract.phases import Verdict

LARGEST_VERDICT = 64 * 1024
"""Bytes of a verdict file, at most."""
_LONGEST_MESSAGE = 2000


class _MalformedError(Exception):
    """What is wrong with a verdict file."""


def from_verdict(content: bytes) -> Judgement:
    """What `verdict.json` says."""
    try:
        return _read(content)
    except _MalformedError as fault:
        return failure(f"the grader's verdict.json {fault}")


def _read(content: bytes) -> Judgement:
    if len(content) > LARGEST_VERDICT:
        raise _MalformedError("is too large")
    try:
        told = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise _MalformedError("is no JSON") from None
    if not isinstance(told, dict):
        raise _MalformedError("is no JSON object")
    name, reward, message = told.get("verdict"), told.get("reward"), told.get("message", "")
    if not isinstance(name, str) or name not in set(Verdict):
        raise _MalformedError(f"has no verdict that is known; it must be one of {', '.join(Verdict)}")
    if not isinstance(message, str):
        raise _MalformedError("has a message that is no text")
    message = clean_text(message)
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + "…"
    verdict = Verdict(name)
    if verdict is Verdict.INFRASTRUCTURE_FAILURE:
        return failure(message or "the grader says that it failed")
    if reward is None:
        reward = 1.0 if verdict is Verdict.CORRECT else 0.0
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not _is_reward(reward):
        raise _MalformedError("has a reward that is no number from 0 to 1")
    return Judgement(verdict, float(reward), message)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose names are told once: of two verdicts nobody knows which is meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _MalformedError("tells something twice")
    return made


def from_reward(content: bytes, threshold: float) -> Judgement:
    """What a bare reward means."""
    try:
        reward = float(content[:100].decode("ascii").strip())
    except ValueError:
        return failure("the grader's reward file holds no number")
    if not _is_reward(reward):
        return failure("the grader's reward is not from 0 to 1")
    return Judgement(Verdict.CORRECT if reward >= threshold else Verdict.INCORRECT, reward)


def _is_reward(number: float) -> bool:
    return math.isfinite(number) and 0 <= number <= 1
