"""What the tests of task folders left behind, read as their formats define it. Pure.

Harbor: `reward.json` before `reward.txt`, both below `/logs/verifier`. Terminal-Bench: the text that the tests printed, in which pytest's
short summary says which tests passed. What cannot be read is a grader that failed, never a verdict.
"""

import json
import math
import re
from collections.abc import Mapping

from local_backend.environments.secret_tasks import Judgement, failure
from nodus_tui.contract.phases import Verdict

TESTS_FOLDER = "/tests"
LOGS_FOLDER = "/logs"
SOLUTION_FOLDER = "/solution"
VERIFIER_FOLDER = f"{LOGS_FOLDER}/verifier"
REWARD_JSON = f"{VERIFIER_FOLDER}/reward.json"
REWARD_TEXT = f"{VERIFIER_FOLDER}/reward.txt"
OUTPUT_FILE = f"{VERIFIER_FOLDER}/test-stdout.txt"

LARGEST_REWARD = 64 * 1024
"""Bytes of a reward file, at most."""
LARGEST_OUTPUT = 2**20
"""Bytes of what tests printed that are looked at, counted from its end."""

_SUMMARY = re.compile(r"^=+\s*short test summary info\s*=+\s*$", re.IGNORECASE | re.MULTILINE)
_RESULT = re.compile(r"^(PASSED|XFAIL|SKIPPED|FAILED|XPASS|ERROR):?\s+(\S.*)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PASSES = frozenset({"PASSED", "XFAIL", "SKIPPED"})
_NO_SUMMARY = "the tests printed no short summary of pytest's, so they may not have run at all: does run-tests.sh need the network?"


def from_reward_files(found: Mapping[str, bytes]) -> Judgement:
    """What the reward files of a Harbor task say; `found` has those that exist, by path."""
    if REWARD_JSON in found:
        return _from_json(found[REWARD_JSON])
    if REWARD_TEXT in found:
        try:
            number = float(found[REWARD_TEXT][:1000].decode("ascii").strip())
        except ValueError:
            return failure("the tests' reward.txt holds no number")
        return _from_number(number)
    return failure("the tests wrote no reward: neither reward.txt nor reward.json is in /logs/verifier")


def _from_json(content: bytes) -> Judgement:
    try:
        rewards = json.loads(content)
    except (ValueError, RecursionError):
        return failure("the tests' reward.json is no JSON")
    if not isinstance(rewards, dict) or not rewards:
        return failure("the tests' reward.json holds no rewards by name")
    if "reward" in rewards:
        number = rewards["reward"]
    elif len(rewards) == 1:
        (number,) = rewards.values()
    else:
        return failure('the tests\' reward.json has several rewards and none of the name "reward", so that none of them counts')
    if not isinstance(number, int | float):
        return failure("the tests' reward.json has a reward that is no number")
    return _from_number(number)


def _from_number(number: float) -> Judgement:
    if not math.isfinite(number) or not 0 <= number <= 1:
        return failure("the tests' reward is not from 0 to 1")
    return Judgement(Verdict.CORRECT if number == 1 else Verdict.INCORRECT, float(number))


def from_pytest_output(output: str) -> Judgement:
    """What pytest's short summary says: Correct when no test in it failed; the reward is the share that passed.

    Everything after the first heading counts, so that output which looks like a summary can make tests fail, and never pass.
    """
    text = _COLOUR.sub("", output).replace("\r\n", "\n")
    heading = _SUMMARY.search(text)
    if heading is None:
        return failure(_NO_SUMMARY)
    # A test may stand there twice, such as with an error in its teardown: then it has not passed.
    passed: dict[str, bool] = {}
    for status, name in _RESULT.findall(text, heading.end()):
        test = name.split(" - ", 1)[0].strip()
        passed[test] = passed.get(test, True) and status in _PASSES
    if not passed:
        return failure("pytest's short summary names no test: run-tests.sh should call pytest with -rA")
    share = sum(passed.values()) / len(passed)
    message = f"{sum(passed.values())} of {len(passed)} tests passed"
    return Judgement(Verdict.CORRECT if share == 1 else Verdict.INCORRECT, share, message)
