"""The log of a job as a recording has it: pieces that somebody read, put together again. Pure."""

from collections.abc import Iterable

from nodus_tui.contract.resources.job import JobLog


def put_together(pieces: Iterable[JobLog]) -> JobLog | None:
    """The last stretch without a gap that the pieces give, in the order in which they were read; None where there is none."""
    whole: JobLog | None = None
    for piece in pieces:
        if whole is None or piece.offset > whole.next_offset:
            whole = piece
            continue
        fresh = _after(piece, whole.next_offset)
        whole = whole.model_copy(
            update={
                "text": whole.text + fresh,
                "next_offset": max(whole.next_offset, piece.next_offset),
                "size": max(whole.size, piece.size),
                "ended": whole.ended or piece.ended,
            }
        )
    return whole


def part_of(whole: JobLog, after: int) -> JobLog:
    """What comes after a place of it; a negative one counts from the end, and what was never read is skipped."""
    start = max(0, whole.next_offset + after) if after < 0 else after
    if start <= whole.offset:
        return whole.model_copy(update={"skipped": 0 if after < 0 else whole.offset - start})
    return whole.model_copy(update={"offset": start, "next_offset": max(start, whole.next_offset), "text": _after(whole, start)})


def _after(piece: JobLog, place: int) -> str:
    """The text of a piece from a byte of the log on. Bytes that were no UTF-8 may shift that by some characters."""
    if place <= piece.offset:
        return piece.text
    return piece.text.encode("utf-8", "replace")[place - piece.offset :].decode("utf-8", "replace")
