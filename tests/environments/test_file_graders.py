"""Each grader's table of cases, the hostile ones included."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from local_backend.environments.expectations import UnreadableAnswerError, expectation, extract
from local_backend.environments.secret_tasks import judge_stand_in
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.resources.environment import Grader, TaskFields

ADAPTER: TypeAdapter[Any] = TypeAdapter(Grader)
RIGHT, WRONG, UNREADABLE = Verdict.CORRECT, Verdict.INCORRECT, Verdict.INVALID_OUTPUT


def grader(**settings: Any) -> Any:
    return ADAPTER.validate_python(settings)


EXACT = [
    ("Paris", "Paris", {}, RIGHT),
    ("Paris", "  Paris\n", {}, RIGHT),
    ("Paris", "paris", {}, WRONG),
    ("Straße", "STRASSE", {"ignore_case": True}, RIGHT),
    ("café", "cafe\u0301", {}, RIGHT),
    ("Paris", "Paris.", {}, WRONG),
    ("Paris", "", {}, UNREADABLE),
    ("Paris", " \n", {}, UNREADABLE),
    (7, "7", {}, RIGHT),
    (True, "true", {}, RIGHT),
]


@pytest.mark.parametrize(("expected", "completion", "settings", "verdict"), EXACT)
def test_exact(expected: object, completion: str, settings: dict[str, Any], verdict: Verdict) -> None:
    assert expectation(grader(type="exact", **settings), expected).judge(completion).verdict is verdict


CHOICE = [
    ("B", RIGHT),
    ("b", RIGHT),
    ("(B)", RIGHT),
    ("**B**", RIGHT),
    ("B.", RIGHT),
    ("The answer is (B).", RIGHT),
    ("The answer is B because A is too small.", RIGHT),
    ("the answer is b", RIGHT),
    ("Answer: B", RIGHT),
    ("**Answer:** B", RIGHT),
    ("Answer: A\nWait. Answer: B", RIGHT),
    (r"The answer is $\boxed{B}$", RIGHT),
    (r"answer: \text{B}", RIGHT),
    ("B) the second one", RIGHT),
    ("A cat sat there, so option B", RIGHT),
    ("A is right", WRONG),
    ("Option C", WRONG),
    ("Answer: D", WRONG),
    ("A or B", UNREADABLE),
    ("Either (A), (B) or (C)", UNREADABLE),
    ("the answer is a dog", UNREADABLE),
    ("I do not know", UNREADABLE),
    ("", UNREADABLE),
    ("Bravo", UNREADABLE),
    ("vitamin B12", UNREADABLE),
    ("E", UNREADABLE),
]


@pytest.mark.parametrize(("completion", "verdict"), CHOICE)
def test_choice(completion: str, verdict: Verdict) -> None:
    assert expectation(grader(type="choice"), "B").judge(completion).verdict is verdict


@pytest.mark.parametrize(
    ("completion", "verdict"),
    [
        ("Yes", RIGHT),
        ("YES!", RIGHT),
        ("I would say yes.", RIGHT),
        ("Answer: no", WRONG),
        ("yes and no", UNREADABLE),
        ("yesterday", UNREADABLE),
        ("maybe not", WRONG),
    ],
)
def test_choices_that_are_words(completion: str, verdict: Verdict) -> None:
    assert expectation(grader(type="choice", choices=["yes", "no", "maybe not"]), "Yes").judge(completion).verdict is verdict


REGEX = [
    (r"\d{4}", "2024", {}, RIGHT),
    (r"\d{4}", " 2024 ", {}, RIGHT),
    (r"\d{4}", "in 2024", {}, WRONG),
    (r"(?s).*2024.*", "in\n2024\n", {}, RIGHT),
    (r"colou?r", "COLOR", {}, WRONG),
    (r"colou?r", "COLOR", {"ignore_case": True}, RIGHT),
    (r"x+", "", {}, UNREADABLE),
    (r"x*", "", {}, RIGHT),
]


@pytest.mark.parametrize(("expected", "completion", "settings", "verdict"), REGEX)
def test_regex(expected: str, completion: str, settings: dict[str, Any], verdict: Verdict) -> None:
    assert expectation(grader(type="regex", **settings), expected).judge(completion).verdict is verdict


JSON = [
    ('{"a": 1, "b": [true, null]}', '{"b": [true, null], "a": 1}', {}, RIGHT),
    ({"a": 1}, '{"a": 1.0}', {}, RIGHT),
    ({"a": 1}, 'Here you are:\n```json\n{"a": 1}\n```\nBye {x}', {}, RIGHT),
    ({"a": 1}, '```\n{}\n```\nno:\n```json\n{"a": 1}\n```', {}, RIGHT),
    ({"a": 1}, 'It is {"a": 1}, I think.', {}, RIGHT),
    ({"a": 1}, 'First {"a": 2}, then {"a": 1}', {}, RIGHT),
    ({"a": {"b": 1}}, 'so {"a": {"b": 1}}!', {}, RIGHT),
    ({"a": 1}, '{"a": true}', {}, WRONG),
    ({"a": True}, '{"a": 1}', {}, WRONG),
    ({"a": 1}, '{"a": "1"}', {}, WRONG),
    ([1, 2], "[2, 1]", {}, WRONG),
    ([1, 2], "[1, 2, 3]", {}, WRONG),
    (0.3, "0.30000000000000004", {}, WRONG),
    (0.3, "0.30000000000000004", {"tolerance": 0.001}, RIGHT),
    (0.1, "0.10", {}, RIGHT),
    (5, "5", {}, RIGHT),
    ('"five"', '"five"', {}, RIGHT),
    ({"a": 1}, "{'a': 1}", {}, UNREADABLE),
    ({"a": 1}, "NaN", {}, UNREADABLE),
    ({"a": 1}, '{"a": Infinity}', {}, UNREADABLE),
    ({"a": 1}, '{"a": 1e999999999999999999999}', {}, UNREADABLE),
    ({"a": 1}, '{"a": 1e9999}', {"tolerance": 1}, WRONG),
    ({"a": 1}, "", {}, UNREADABLE),
    ({"a": 1}, "[" * 100_000, {}, UNREADABLE),
    ({"a": 1}, '{"a":' * 100_000, {}, UNREADABLE),
    ({"a": 1}, '{"a": ' + "9" * 5000 + "}", {}, UNREADABLE),
]


@pytest.mark.parametrize(("expected", "completion", "settings", "verdict"), JSON)
def test_json(expected: object, completion: str, settings: dict[str, Any], verdict: Verdict) -> None:
    assert expectation(grader(type="json", **settings), expected).judge(completion).verdict is verdict


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ({"type": "exact"}, ""),
        ({"type": "exact"}, {"secret": 1}),
        ({"type": "numeric"}, "secret"),
        ({"type": "numeric"}, True),
        ({"type": "choice"}, "secret"),
        ({"type": "regex"}, "(secret"),
        ({"type": "regex"}, "(?P<secret>"),
        ({"type": "json"}, "secret"),
        ({"type": "json"}, "[secret"),
    ],
)
def test_answers_that_a_grader_cannot_use_are_refused_without_being_quoted(settings: dict[str, Any], answer: object) -> None:
    with pytest.raises(UnreadableAnswerError) as caught:
        expectation(grader(**settings), answer)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("pattern", "completion", "found"),
    [
        (None, "all of it", "all of it"),
        (r"####\s*(\S+)", "#### 1\n#### 2", "2"),
        (r"\d+", "1 then 22", "22"),
        (r"x(\d)?", "x1 x", None),
        (r"nothing", "else", None),
    ],
)
def test_the_part_that_counts(pattern: str | None, completion: str, found: str | None) -> None:
    assert extract(re.compile(pattern) if pattern else None, completion) == found


STAND_INS = [
    ({"type": "exact"}, "Paris"),
    ({"type": "exact", "ignore_case": True}, "paris not"),
    ({"type": "numeric", "tolerance": 3, "relative_tolerance": 2}, "-7.5"),
    ({"type": "choice"}, "D"),
    ({"type": "choice", "choices": ["yes", "no"]}, "no"),
    ({"type": "json"}, {"a": [1, 0.25, None, 'é"\\'], "b": {}}),
    ({"type": "json"}, "[]"),
    ({"type": "regex"}, "plain"),
    ({"type": "regex"}, r"\d{3}-[a-f]+(?:left|right)\s?"),
    ({"type": "regex"}, r"(?i)colou?r"),
    ({"type": "regex"}, r"([xy])\1[^abc]"),
    ({"type": "regex"}, r"^\W\S\w\D$"),
    ({"type": "regex"}, r"(?>ab)++."),
]


@pytest.mark.parametrize(("settings", "answer"), STAND_INS)
def test_stand_ins_are_judged_as_what_they_stand_for(settings: dict[str, Any], answer: object) -> None:
    expected = expectation(grader(**settings), answer)
    assert judge_stand_in(expected, right=True).verdict is RIGHT
    assert judge_stand_in(expected, right=False).verdict is WRONG


def test_a_stand_in_that_cannot_be_made_is_unscored() -> None:
    impossible = expectation(grader(type="regex"), r"a(?!a)a|(?<=x)y")
    assert judge_stand_in(impossible, right=True).verdict is Verdict.INFRASTRUCTURE_FAILURE
    everything = expectation(grader(type="regex"), r"(?s).*")
    assert judge_stand_in(everything, right=False).verdict is Verdict.INFRASTRUCTURE_FAILURE


@given(st.text())
def test_any_completion_gets_a_verdict_that_counts(completion: str) -> None:
    for settings, answer in STAND_INS:
        assert expectation(grader(**settings), answer).judge(completion).verdict.scored


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "numeric", "tolerance": float("inf")},
        {"type": "numeric", "tolerance": -1},
        {"type": "choice", "choices": ["A"]},
        {"type": "choice", "choices": ["A", "a "]},
        {"type": "choice", "choices": ["A", " "]},
        {"type": "exact", "answer_pattern": "("},
        {"type": "exact", "answer_pattern": "(a)(b)"},
        {"type": "exact", "answer_pattern": "a{99999999999999999999}"},
    ],
)
def test_graders_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        grader(**settings)


def test_the_answer_column_is_read_as_nothing_else() -> None:
    with pytest.raises(ValidationError, match="same name"):
        TaskFields(id="answer")
    with pytest.raises(ValidationError, match="same name"):
        TaskFields(answer="split")
