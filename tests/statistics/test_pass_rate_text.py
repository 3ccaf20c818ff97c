"""The one text of a pass rate."""

import pytest

from nodus_tui.statistics.format import pass_rate_text, told_rate_text
from nodus_tui.statistics.pass_rate import PassRateSummary, pass_rate_summary


def text_of(summary: PassRateSummary) -> str:
    return pass_rate_text(
        pass_rate=summary.pass_rate,
        standard_error=summary.standard_error,
        ci95=summary.ci95,
        scored=summary.scored,
        total=summary.total,
    )


def one_each(correct: int, wrong: int, total: int) -> PassRateSummary:
    return pass_rate_summary({f"t{index}": [index < correct] for index in range(correct + wrong)}, total=total)


def test_the_documented_text_from_a_rate_of_62_percent() -> None:
    shown = one_each(62, 38, 100)
    text = pass_rate_text(pass_rate=shown.pass_rate, standard_error=shown.standard_error, ci95=shown.ci95, scored=97, total=100)
    assert text == "62.0% ± 9.5 (SE 4.9), 97/100 scored"


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (one_each(62, 38, 100), "62.0% ± 9.5 (SE 4.9), 100/100 scored"),
        (one_each(60, 37, 100), "61.9% ± 9.7 (SE 4.9), 97/100 scored"),
        (one_each(50, 50, 100), "50.0% ± 9.8 (SE 5.0), 100/100 scored"),
        (one_each(10, 0, 10), "100.0% [72.2, 100.0] (SE 0.0), 10/10 scored"),
        (one_each(7, 43, 60), "14.0% [7.0, 26.2] (SE 4.9), 50/60 scored"),
        (one_each(1, 0, 100), "100.0% (no SE with one task), 1/100 scored"),
        (one_each(0, 0, 100), "no verdict yet, 0/100 scored"),
    ],
)
def test_the_text_of_real_summaries(summary: PassRateSummary, expected: str) -> None:
    assert text_of(summary) == expected


def test_a_group_that_ended_without_verdicts_does_not_say_yet() -> None:
    text = pass_rate_text(pass_rate=None, standard_error=None, ci95=None, scored=0, total=100, ended=True)
    assert text == "no verdict, 0/100 scored"


def test_a_status_as_events_have_it_is_told_in_the_same_text() -> None:
    rated = {"coverage": {"scored": 97, "total": 100}, "passRate": 0.62, "standardError": 0.049, "ci95": [0.525, 0.715]}
    assert told_rate_text(rated) == "62.0% ± 9.5 (SE 4.9), 97/100 scored"
    assert told_rate_text({"coverage": {"scored": 1, "total": 4}, "passRate": 1.0}) == "100.0% (no SE with one task), 1/4 scored"
    assert told_rate_text({"coverage": {"scored": 0, "total": 4}, "passRate": None}) == "0/4 scored"
    assert told_rate_text({"phase": "Running"}) == ""
