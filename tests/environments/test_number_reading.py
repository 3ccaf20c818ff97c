"""Numbers as completions spell them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.environments.number_reading import NumberExpectation, answer_line, last_number, number_text, whole_number_text
from nodus_tui.contract.phases import Verdict

READ = [
    ("42", 42),
    ("42.", 42),
    ("It is 7, no, 42!", 42),
    ("-3", -3),
    ("+3", 3),
    ("x = -3", -3),
    ("(-3)", -3),
    ("7-3", 3),
    ("7 - 3", 3),
    ("7 - 3 = 4", 4),
    ("(2)-3", 3),
    ("−5", -5),
    ("between 5–10", 10),
    ("1,234", 1234),
    ("1,234,567.5", Fraction("1234567.5")),
    ("1_000", 1000),
    ("1'000", 1000),
    ("1\u202f000\u202f000", 1_000_000),
    ("3,5", 5),
    ("1,2345", 2345),
    ("$1,250.50", Fraction("1250.5")),
    ("-$5", -5),
    ("$-5", -5),
    ("50%", 50),
    (".5", Fraction(1, 2)),
    ("0.10", Fraction(1, 10)),
    ("1e5", 100_000),
    ("1E+2", 100),
    ("2.5e-1", Fraction(1, 4)),
    ("1e5x", 1),
    ("3/4", Fraction(3, 4)),
    ("-3/4", Fraction(-3, 4)),
    ("12 / 4", 4),
    (r"\frac{3}{4}", Fraction(3, 4)),
    (r"-\frac{3}{4}", Fraction(-3, 4)),
    (r"\boxed{42}", 42),
    (r"12{,}345", 12345),
    (r"12\,345", 12345),
    ("**42**", 42),
    ("٤٢", 42),
    ("४२", 42),
    ("４２", 42),
    ("答案是42", 42),
    ("5²", 5),
    ("42km", 42),
    ("...42", 42),
    ("007", 7),
    ("1.2.3", Fraction("1.2")),
    ("H2O", None),
    ("v1.5", None),
    ("x_2", None),
    ("NaN", None),
    ("Infinity and -inf", None),
    ("", None),
    ("none at all", None),
    ("3/0", None),
    ("1e999999999", None),
    ("9" * 5000, None),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_last_number(text: str, value: object) -> None:
    assert last_number(text) == value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Answer: 4", " 4"),
        ("answer: 3\nso\nANSWER : 4\nbye 5", " 4"),
        ("The final answer is: 4\n(2 steps)", " 4"),
        ("**Answer:** 4", "** 4"),
        ("Answer:\n\n42\n7", "42"),
        ("Answer: \n", ""),
        ("回 answer： 4", " 4"),
        ("no such line 4", None),
        ("answering: 4", None),
    ],
)
def test_answer_line(text: str, line: str | None) -> None:
    assert answer_line(text) == line


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Answer: 7 + 8 = 15", Verdict.CORRECT),
        ("15", Verdict.CORRECT),
        ("15.0", Verdict.CORRECT),
        ("Answer: 15\nI checked it 3 times.", Verdict.CORRECT),
        ("15 at first. Answer: 16", Verdict.INCORRECT),
        ("It is 15. Answer: unknown", Verdict.INVALID_OUTPUT),
        ("fifteen", Verdict.INVALID_OUTPUT),
        ("", Verdict.INVALID_OUTPUT),
    ],
)
def test_judging(text: str, verdict: Verdict) -> None:
    judgement = NumberExpectation(Fraction(15)).judge(text)
    assert judgement.verdict is verdict
    assert judgement.reward == (1.0 if verdict is Verdict.CORRECT else 0.0)
    assert "15" not in judgement.message


def test_tolerances_are_exact_and_the_wider_one_counts() -> None:
    tenth = NumberExpectation(Fraction(1), tolerance=Fraction(1, 10))
    assert tenth.judge("1.1").verdict is Verdict.CORRECT
    assert tenth.judge("0.9").verdict is Verdict.CORRECT
    assert tenth.judge("1.1000000000000000001").verdict is Verdict.INCORRECT
    relative = NumberExpectation(Fraction(-200), tolerance=Fraction(1), relative_tolerance=Fraction(1, 100))
    assert relative.judge("-202").verdict is Verdict.CORRECT
    assert relative.judge("-203").verdict is Verdict.INCORRECT


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5), (0.1, Fraction(1, 10)), (" 1,000 ", 1000), ("3/4", Fraction(3, 4)), ("-7", -7), (1e-7, Fraction(1, 10**7))],
)
def test_expected_numbers(value: object, number: object) -> None:
    assert whole_number_text(value) == number


@pytest.mark.parametrize("value", [True, None, [], "five", "5 apples", "5 6", "nan", float("nan"), float("inf"), ""])
def test_what_is_no_expected_number(value: object) -> None:
    assert whole_number_text(value) is None


@given(
    expected=st.fractions(max_denominator=10**6),
    tolerance=st.fractions(0, 100),
    relative=st.fractions(0, 3),
)
def test_stand_ins_are_judged_as_what_they_stand_for(expected: Fraction, tolerance: Fraction, relative: Fraction) -> None:
    expectation = NumberExpectation(expected, tolerance, relative)
    right, wrong = expectation.stand_in(right=True), expectation.stand_in(right=False)
    assert right is not None
    assert wrong is not None
    assert last_number(right) == expected
    assert expectation.judge(right).verdict is Verdict.CORRECT
    assert expectation.judge(wrong).verdict is Verdict.INCORRECT


@given(st.integers(-(10**30), 10**30))
def test_whole_numbers_are_read_as_written(value: int) -> None:
    assert last_number(number_text(Fraction(value))) == value
    assert last_number(f"{value:,}") == value


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    last_number(text)
    answer_line(text)


@pytest.mark.parametrize(
    "text", ["1" * 10**6, "1,234" * 10**5, "answer " * 10**5, "-" * 10**6, "\\frac{" * 10**5, "1/" * 10**5, "1e" * 10**5]
)
def test_hostile_texts_take_time_in_proportion_to_their_length(text: str) -> None:
    # No figure is asserted: a quadratic reading of these would run into the suite's own timeout.
    assert NumberExpectation(Fraction(5)).judge(text).verdict is not Verdict.CORRECT
