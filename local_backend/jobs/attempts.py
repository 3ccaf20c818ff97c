"""Another attempt of a job that has ended, and a higher cap: what may be asked for, and what is changed. Pure, over the job's record."""

from datetime import timedelta

from local_backend.jobs.deadlines import LEAST_US, SECOND_US, affordable_us
from local_backend.jobs.describing import deadlines_of
from local_backend.jobs.endings import Ending
from local_backend.jobs.standing import serving_of
from local_backend.storage.job_records import JobRecord
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import display_usd, usd_from_nano


def check_retry(record: JobRecord) -> None:
    """Raise NodusError where a job cannot be tried again; the sentence says what can be done instead."""
    if not record.ended:
        raise NodusError(ErrorCode.INVALID_ACTION, f"{record.name} has not ended ({record.phase}): there is nothing to try again")
    if record.phase == "Succeeded" and record.reason is None:
        raise NodusError(
            ErrorCode.INVALID_ACTION, f"{record.name} has succeeded; `nodus-tui run --as NAME` runs its spec anew under another name"
        )
    short = too_little(record)
    if short:
        raise NodusError(
            ErrorCode.INVALID_ACTION, f"{record.name} {short}: `nodus-tui extend-cap {_target(record)} AMOUNT` gives it a higher cap"
        )


def too_little(record: JobRecord) -> str:
    """Why what is left of its cap pays for no other attempt, as a sentence without its subject; empty where it does."""
    spent = record.cost_before + record.cost
    left = affordable_us(max(0, record.cap - spent), record.rate)
    if left is None or left >= LEAST_US:
        return ""
    said = f"has spent {display_usd(usd_from_nano(spent))} of its cap of {display_usd(usd_from_nano(record.cap))}"
    return f"{said}, and what is left pays for {left / SECOND_US:.2f} s"


def check_cap(record: JobRecord, cap: int) -> None:
    """Raise NodusError where a cap cannot be set."""
    now = display_usd(usd_from_nano(record.cap))
    if cap < record.cap:
        raise NodusError(ErrorCode.INVALID_ACTION, f"a cap is raised, never lowered: {record.name} has {now} now")
    if record.phase == "Succeeded" and record.reason is None:
        raise NodusError(ErrorCode.INVALID_ACTION, f"{record.name} has succeeded: there is nothing left to pay for")


def goes_on(record: JobRecord) -> bool:
    """Whether a higher cap is all that an ended job was waiting for."""
    return record.ended and record.reason == "MaxCostReached" and not too_little(record)


def raised_while_ending(record: JobRecord, how: Ending, grace: timedelta) -> bool:
    """Whether the cap that ended it was raised when it had been asked to end already: by the cap in force it would go on."""
    if how.reason != "MaxCostReached" or record.stop or record.started_at is None or record.ended_at is None:
        return False
    used_us = (record.ended_at - record.started_at) // timedelta(microseconds=1)
    return used_us < deadlines_of(record, grace).ask_us and not too_little(record)


def waits_for_budget(record: JobRecord) -> bool:
    """Whether a job that a budget ended goes on by itself where that has room again. One that serves is started by who needs it."""
    stopped = record.phase == "Cancelled" and record.reason == "BudgetExceeded"
    return stopped and serving_of(record) is None and not too_little(record)


def deadline_words(record: JobRecord, grace: timedelta) -> str:
    """What its supervisor is told when its cap has changed while it runs."""
    deadlines = deadlines_of(record, grace)
    last = "-" if deadlines.last_us is None else str(deadlines.last_us)
    return f"deadlines {deadlines.ask_us} {deadlines.reason} {last}"


def _target(record: JobRecord) -> str:
    return f"{'tj' if record.kind == 'TrainingJob' else 'job'}/{record.name}"
