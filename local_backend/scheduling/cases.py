"""The runs of a group's cases: the first attempts, and those that follow. Changes the books in memory, gives the statements."""

from collections.abc import Callable

from local_backend.episodes.metering import GroupBooks
from local_backend.storage.records import RunRecord
from local_backend.storage.store import Statement
from nodus_tui.contract.money import nano_from_usd

NextSeq = Callable[[], int]
"""Gives each new run its place in the order of creation."""


def run_name(group: str, case_index: int, attempt: int) -> str:
    """The name of a run: its group, its case from 1, and its attempt where that is not the first."""
    suffix = f"-{attempt}" if attempt > 1 else ""
    return f"{group}-c{case_index + 1:03d}{suffix}"


def open_first_attempts(books: GroupBooks, repetitions: int, next_seq: NextSeq) -> list[Statement]:
    """One run for each task and repetition, each with the agent's per-run cap as it is now."""
    statements: list[Statement] = []
    for task in books.tasks:
        for repetition in range(1, repetitions + 1):
            case = task.position * repetitions + repetition - 1
            run = RunRecord(
                seq=next_seq(),
                name=run_name(books.group.name, case, 1),
                group_name=books.group.name,
                case_index=case,
                task_position=task.position,
                task_id=task.task_id,
                repetition=repetition,
                attempt=1,
                cap=nano_from_usd(books.agent.per_run_max_cost_usd),
                created_at=books.clock(),
            )
            statements += books.created(run)
    return statements


def next_attempt(books: GroupBooks, run: RunRecord) -> int:
    """The number of the next attempt at a run's case."""
    return 1 + max(each.attempt for each in books.runs.values() if each.case_index == run.case_index)


def open_successor(books: GroupBooks, run: RunRecord, cap: int, next_seq: NextSeq, *, carry: bool) -> tuple[RunRecord, list[Statement]]:
    """The next attempt at a run's case.

    With `carry` it takes the conversation over and starts with what that cost counted against its own cap; otherwise it begins afresh.
    """
    run.current = False
    attempt = next_attempt(books, run)
    carried = carry and run.turns > 0
    made = RunRecord(
        seq=next_seq(),
        name=run_name(run.group_name, run.case_index, attempt),
        group_name=run.group_name,
        case_index=run.case_index,
        task_position=run.task_position,
        task_id=run.task_id,
        repetition=run.repetition,
        attempt=attempt,
        cap=cap,
        created_at=books.clock(),
        predecessor=run.name,
        carried=run.carried + run.spent if carried else 0,
        turns=run.turns if carried else 0,
        input_tokens=run.input_tokens if carried else 0,
        output_tokens=run.output_tokens if carried else 0,
        answered=run.answered and carried,
        sandbox=run.sandbox.handed_on() if carried and run.sandbox else None,
    )
    statements = books.created(made)
    if carried:
        copy = (
            "INSERT INTO turns (run, position, role, text, at, call, tools) "
            "SELECT ?, position, role, text, at, NULL, tools FROM turns WHERE run = ? AND (position <= ? OR role = 'tool')"
        )
        statements.append((copy, (made.name, run.name, 2 * run.turns)))
    return made, statements


def can_carry(books: GroupBooks, run: RunRecord) -> bool:
    """Whether a successor can take the conversation over: one with tools only together with the agent's files."""
    return run.turns > 0 and (not books.agent.tools or (run.sandbox is not None and run.sandbox.kept and not run.sandbox.lost))


def goes_on(books: GroupBooks, run: RunRecord) -> bool:
    """Whether a retry takes the conversation over: where it is complete, or where its cap has room for two more turns of its mean cost.

    Otherwise the retry would only meet its cap, or its last turn, again, and begins afresh.
    """
    if not can_carry(books, run):
        return False
    if run.answered:
        return True
    paid = run.carried + run.spent
    return run.turns < books.agent.max_turns and run.cap - paid >= 2 * (paid // run.turns)
