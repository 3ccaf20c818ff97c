"""Following the stream for `watch`: how things stand, then what changes, a line each, until what is watched has ended."""

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec import Struct
from pydantic import JsonValue

from nodus_tui.cli.boxes import tell_box
from nodus_tui.cli.change_lines import ChangeLines, standing
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import discard_stdout, say
from nodus_tui.cli.gate import Gate, judge, unscored_exit
from nodus_tui.cli.jobs import judge_job, status_of
from nodus_tui.cli.sweeps import judge_sweep
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.events import Event, EventBatch, Snapshot
from nodus_tui.contract.phases import RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.text import safe_text
from nodus_tui.text_formats import escaped

WATCHED = ("AgentGroup", "AgentRun", "Job", "TrainingJob", "Sweep", "Sandbox", "Budget")
"""Kinds of which the stream tells."""
_ASKED_ONLY = frozenset({"AgentRun", "SweepCell"})
"""Told only where they are asked for: there are too many of them."""
_PARTS = {"AgentGroup": "AgentRun", "Sweep": "SweepCell"}


class Wanted(Struct, frozen=True):
    """What is watched: everything, a kind, or one thing with its runs or cells."""

    kind: str = ""
    name: str = ""

    def has(self, kind: str, name: str, group: str) -> bool:
        """Whether a thing belongs to it."""
        if not self.kind:
            return kind not in _ASKED_ONLY
        if not self.name:
            return kind == self.kind
        return (kind, name) == (self.kind, self.name) or (kind == _PARTS.get(self.kind) and group == self.name)

    @property
    def runs_of(self) -> str | None:
        """Whose runs a snapshot is to hold."""
        if self.kind == "AgentGroup":
            return self.name or None
        return "" if self.kind == "AgentRun" else None


Writer = Callable[[datetime, dict[str, JsonValue], str], bool]
"""Writes a moment, the event as JSON has it, and its words; says whether anybody reads on."""


def write_text(at: datetime, _document: dict[str, JsonValue], words: str) -> bool:
    """A line for people, or nothing where there are no words."""
    return _write(f"{at.astimezone():%H:%M:%S}  {safe_text(words)}") if words else True


def write_json(_at: datetime, document: dict[str, JsonValue], _words: str) -> bool:
    """A line of JSON, whether it is worth words or not."""
    return _write(escaped(json.dumps(document, ensure_ascii=False)))


def _write(text: str) -> bool:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        return False
    except OSError as error:
        discard_stdout()
        raise NodusError(ErrorCode.UNAVAILABLE, f"standard output cannot be written: {error.strerror or error}") from error
    return True


async def watch(backend: Backend, wanted: Wanted, write: Writer, *, once: bool, until_done: bool) -> Exit:
    """Tell how things stand, then what changes. Ends where nobody reads on, with `once` at once, with `until_done` at the thing's end."""
    snapshot = await backend.snapshot(runs_of=wanted.runs_of)
    lines = ChangeLines()
    present = await _present(backend, snapshot, wanted)
    for kind, name, group, status in present:
        lines.known(kind, name, status)
        document: dict[str, JsonValue] = {
            "cursor": snapshot.cursor,
            "at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "change": "Present",
            "kind": kind,
            "name": name,
            "group": group,
            "status": status,
        }
        if not write(datetime.now(UTC), document, standing(kind, name, status)):
            return Exit.DONE
    if not present:
        say("nothing of that is there yet")
    code = await _code(backend, wanted) if until_done else None
    if once or code is not None:
        return Exit.DONE if code is None else code
    async for batch in backend.watch(after=snapshot.cursor):
        if not _told(batch, wanted, lines, write):
            return Exit.DONE
        if until_done and any((event.kind, event.name) == (wanted.kind, wanted.name) for event in batch.events):
            code = await _code(backend, wanted)
            if code is not None:
                return code
    return Exit.INFRASTRUCTURE


async def _present(backend: Backend, snapshot: Snapshot, wanted: Wanted) -> list[tuple[str, str, str, dict[str, JsonValue]]]:
    """Kind, name, group and status of what is there: of a sweep its cells, too, which no snapshot holds."""
    found = [
        (each.kind, each.name, _group_of(each), each.status.to_document() if each.status is not None else {})
        for each in _resources(snapshot, wanted)
    ]
    if wanted.kind == "Sweep" and wanted.name:
        cells = (await backend.sweep_results(wanted.name)).cells
        found += [("SweepCell", cell.name, wanted.name, cell.to_document()) for cell in cells]
    return found


def _told(batch: EventBatch, wanted: Wanted, lines: ChangeLines, write: Writer) -> bool:
    return all(write(event.at, event.to_document(), "; ".join(lines.of(event))) for event in batch.events if _wants(wanted, event))


def _wants(wanted: Wanted, event: Event) -> bool:
    return wanted.has(event.kind, event.name, event.group)


def _group_of(resource: Resource) -> str:
    return resource.spec.group or "" if isinstance(resource, AgentRun) else ""


def _resources(snapshot: Snapshot, wanted: Wanted) -> Iterator[Resource]:
    every: tuple[tuple[Resource, ...], ...] = (
        snapshot.groups,
        snapshot.runs,
        snapshot.jobs,
        snapshot.training_jobs,
        snapshot.sweeps,
        snapshot.sandboxes,
        snapshot.budgets,
    )
    for resources in every:
        for each in resources:
            if wanted.has(each.kind, each.name, _group_of(each)):
                yield each


async def _code(backend: Backend, wanted: Wanted) -> Exit | None:
    """The exit code of the thing that is watched; None while it has not ended. Why it is not 0 is said."""
    found = await backend.get(wanted.kind, wanted.name)
    match found:
        case AgentGroup(status=status) if status is not None and status.phase.at_rest:
            judgement = judge(await backend.results(found.name), Gate())
        case Sweep(status=status) if status is not None and status.phase.at_rest:
            judgement = await judge_sweep(backend, await backend.sweep_results(found.name), Gate())
        case Job() | TrainingJob() if status_of(found).ended:
            return judge_job(found, Gate())
        case Sandbox(status=status) if status is not None and status.ended:
            return tell_box(found, wanted="ended")
        case AgentRun(status=status) if status is not None and (status.phase.ended or status.phase is RunPhase.INTERRUPTED):
            return Exit.DONE if status.phase is RunPhase.SUCCEEDED else unscored_exit(status.reason)
        case _:
            return None
    for sentence in judgement.sentences:
        say(sentence)
    return judgement.code
