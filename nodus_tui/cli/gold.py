"""The gold check as people read it: a line a task, and the table of problems. Pure."""

from nodus_tui.cli.cell_texts import seconds_text
from nodus_tui.cli.output import pairs_text, table_text
from nodus_tui.contract.environment_check import GoldCase, GoldSummary
from nodus_tui.contract.phases import Verdict

_WORDS = {
    "ReferenceFails": "the reference solution fails",
    "EmptyPasses": "the empty answer passes",
    "NoReference": "it has no reference solution",
    "GraderFails": "the grader itself fails",
}


def case_line(case: GoldCase) -> str:
    """`✓ train/repair-07: reference Correct, empty Incorrect, 1.2s`; with a problem, what it is."""
    problem = f"; {_WORDS[case.problem]}" if case.problem else ""
    message = f": {case.message}" if case.problem and case.message else ""
    verdicts = f"reference {_verdict(case.reference)}, empty {case.empty.value}, {seconds_text(case.seconds)}"
    return f"{'✗' if case.problem else '✓'} {case.split}/{case.task_id}: {verdicts}{problem}{message}"


def problems_text(summary: GoldSummary) -> str:
    """The tasks at fault, and the count."""
    rows = [
        (case.split, case.task_id, _WORDS[case.problem], _verdict(case.reference), case.empty.value, case.message)
        for case in summary.cases
        if case.problem
    ]
    table = [table_text(("SPLIT", "TASK", "PROBLEM", "REFERENCE", "EMPTY", ""), rows)] if rows else []
    counts = pairs_text(
        [
            ("Environment", summary.environment),
            ("Digest", summary.digest),
            ("Tasks", str(summary.tasks)),
            ("Problems", str(summary.problems) if summary.problems else "none"),
        ]
    )
    return "\n\n".join([*table, counts])


def _verdict(verdict: Verdict | None) -> str:
    return "none" if verdict is None else verdict.value
