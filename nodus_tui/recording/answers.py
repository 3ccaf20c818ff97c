"""What was asked while a recording was made, and what was answered up to a place in it."""

import json
from contextlib import suppress
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from nodus_tui.contract.errors import ErrorCode, NodusError, Problem
from nodus_tui.contract.playback import place_text
from nodus_tui.contract.resources.job import JobLog
from nodus_tui.recording.logs import part_of, put_together
from nodus_tui.recording.reading import Answered, RecordingReader, question_of

Answer = TypeVar("Answer")


class RecordedAnswers:
    """The answers of one recording. Each call names the place up to which they count, in seconds since the beginning."""

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        self._logs = _log_pieces(reader)

    def has(self, what: str, asked: dict[str, JsonValue]) -> bool:
        """Whether the call was ever made with these parameters."""
        return question_of(what, asked) in self._reader.answers

    def answer(self, what: str, asked: dict[str, JsonValue], words: str, model: TypeAdapter[Answer], place: float) -> Answer:
        """The last answer; `words` say what it is of. Raises NodusError: the refusal that was recorded, or why there is no answer."""
        line = self._last(self._reader.answers.get(question_of(what, asked), []), words, place)
        try:
            if "problem" in line:
                problem = Problem.model_validate(line["problem"])
                raise NodusError(problem.code, problem.detail, problem.faults)
            return model.validate_python(line.get("answer"))
        except (ValidationError, RecursionError):
            raise NodusError(ErrorCode.UNAVAILABLE, f"what the recording holds of {words} is damaged") from None

    def _last(self, found: list[Answered], words: str, place: float) -> dict[str, JsonValue]:
        if not found:
            detail = f"nobody looked at {words} while this was recorded, so the recording does not hold it"
            raise NodusError(ErrorCode.NOT_FOUND, detail)
        before = [each for each in found if each.at <= place]
        if not before:
            detail = f"the recording holds {words} from {place_text(found[0].at)} on, and stands at {place_text(place)}"
            # Whoever asks again later is given it, unlike what is not there at all.
            raise NodusError(ErrorCode.UNAVAILABLE, detail)
        return self._reader.line(before[-1].line)

    def line_of(self, what: str, asked: dict[str, JsonValue], place: float) -> int:
        """The place, among all lines, of the last answer; -1 where there is none."""
        return max((each.line for each in self._reader.answers.get(question_of(what, asked), []) if each.at <= place), default=-1)

    def first(self, what: str) -> float | None:
        """When a call without parameters was first made; None where it never was."""
        found = self._reader.answers.get(question_of(what, {}))
        return found[0].at if found else None

    def log(self, job: str, after: int, place: float) -> JobLog:
        """What was read of a job's log, put together, after a byte of it. Raises NodusError where nobody had read any."""
        pieces = self._logs.get(job, [])
        self._last(pieces, f"the log of {job}", place)
        read = []
        for each in pieces:
            if each.at <= place:
                with suppress(ValidationError, RecursionError):
                    read.append(JobLog.model_validate(self._reader.line(each.line).get("answer")))
        whole = put_together(read)
        if whole is None:
            return JobLog(job=job, offset=max(0, after), next_offset=max(0, after), size=0, text="", ended=False)
        return part_of(whole, after)

    def more_log_at(self, job: str, place: float) -> float | None:
        """When more of a job's log was read; None where it was not."""
        return next((each.at for each in self._logs.get(job, []) if each.at > place), None)


def _log_pieces(reader: RecordingReader) -> dict[str, list[Answered]]:
    """The places of what was read of each job's log, in order."""
    found: dict[str, list[Answered]] = {}
    for question, answers in reader.answers.items():
        what, asked = json.loads(question)
        if what == "job_log" and isinstance(job := asked.get("job"), str):
            found.setdefault(job, []).extend(answers)
    for pieces in found.values():
        pieces.sort(key=lambda each: each.line)
    return found
