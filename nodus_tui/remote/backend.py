"""RemoteBackend: the Backend protocol over HTTP, for a unix socket and for a URL alike.

Most clients ask one thing and leave: what a call answers with is loaded by that call, but for what nearly all of them need.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.http import BUNDLE_TYPE, BYTES_TYPE
from nodus_tui.contract.portions import LOG_BYTES, OUTPUT_SECONDS
from nodus_tui.remote.channel import READ_SECONDS, Channel, Revive, Silent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from decimal import Decimal

    from nodus_tui.contract.actions import Action
    from nodus_tui.contract.backend import LinkState, Page, Query
    from nodus_tui.contract.backend_info import BackendInfo
    from nodus_tui.contract.environment_check import GoldCase
    from nodus_tui.contract.environment_tasks import TaskPage
    from nodus_tui.contract.estimates import Estimate, KindEstimate
    from nodus_tui.contract.events import EventBatch, Snapshot
    from nodus_tui.contract.hardware_view import HardwareView
    from nodus_tui.contract.outcomes import ActionOutcome, ApplyOutcome
    from nodus_tui.contract.resources.agent_run import Transcript
    from nodus_tui.contract.resources.job import JobLog
    from nodus_tui.contract.resources.meta import Resource
    from nodus_tui.contract.results import GroupResults
    from nodus_tui.contract.sandbox_exec import ExecEnd, ExecPiece, ExecRequest, ExecSession, ExecSignal, ExecTaken, TerminalShape
    from nodus_tui.contract.sandboxes import FileEntry, ReapOutcome, SandboxFact
    from nodus_tui.contract.scheduler_view import SchedulerView
    from nodus_tui.contract.spec_loading.bundle import SpecBundle
    from nodus_tui.contract.sweep_results import SweepResults
    from nodus_tui.remote.address import Address
    from nodus_tui.remote.wire import Params

_JSON = "application/json"


class RemoteBackend:
    """An API in another process. `link` says how the way there stands; all calls raise NodusError, as every backend's.

    `connected` says that somebody has just answered there.
    """

    def __init__(self, address: Address, *, revive: Revive | None = None, silent: Silent | None = None, connected: bool = False) -> None:
        self._channel = Channel(address, revive=revive, silent=silent, connected=connected)

    @property
    def link(self) -> LinkState:
        """How the way there stands."""
        return self._channel.link

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know of this connection."""
        return (*self._channel.address.notes, *filter(None, [self._channel.skew]))

    async def apply(self, bundle: SpecBundle, *, dry_run: bool = False, author: str = "", request_id: str = "") -> ApplyOutcome:
        """Create or change everything, or nothing."""
        from nodus_tui.contract.outcomes import ApplyOutcome  # noqa: PLC0415 - each call loads what answers it
        from nodus_tui.contract.spec_loading.packing import pack_bundle  # noqa: PLC0415 - see above

        params = [("dryRun", "true" if dry_run else "false"), *([("author", author)] if author else [])]
        return await self._channel.post(
            ApplyOutcome, "/apply", params, body=pack_bundle(bundle), media=BUNDLE_TYPE, key=request_id or _new_key()
        )

    async def estimate(self, bundle: SpecBundle, *, minutes_per_case: Decimal) -> tuple[Estimate | KindEstimate, ...]:
        """What each document costs at most, and how long it takes."""
        from nodus_tui.contract.spec_loading.packing import pack_bundle  # noqa: PLC0415 - see above
        from nodus_tui.remote.estimates import Estimates  # noqa: PLC0415 - see above

        params = [("minutesPerCase", format(minutes_per_case, "f"))]
        made = await self._channel.post(Estimates, "/estimate", params, body=pack_bundle(bundle), media=BUNDLE_TYPE, key=_new_key())
        return made.estimates

    async def get(self, kind: str, name: str) -> Resource:
        """One resource."""
        if not kind or not name:
            raise NodusError.not_found(kind, name)
        return self._resource(kind, await self._channel.get_bytes(f"/resources/{_segment(kind)}/{_segment(name)}"))

    def _resource(self, kind: str, text: bytes) -> Resource:
        from nodus_tui.contract.resources.registry import KINDS  # noqa: PLC0415 - see above

        model = KINDS.get(kind)
        if model is None:
            raise NodusError.not_found("kind", kind)
        return self._channel.read(model, text)

    async def list(self, kind: str, query: Query | None = None) -> Page:
        """Resources of a kind."""
        from nodus_tui.contract.backend import Page, Query  # noqa: PLC0415 - see above
        from nodus_tui.contract.resources.registry import KINDS  # noqa: PLC0415 - see above
        from nodus_tui.remote.pages import RawPage  # noqa: PLC0415 - see above

        if kind not in KINDS:
            return Page(items=())
        asked = (query or Query()).to_document()
        params = [(name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in asked.items() if value != ""]
        raw = await self._channel.get(RawPage, f"/resources/{_segment(kind)}", params)
        items = tuple(self._channel.checked(KINDS[kind], item) for item in raw.items)
        return Page(items=items, next_after=raw.next_after)

    async def results(self, group: str) -> GroupResults:
        """The results of a group as they stand."""
        from nodus_tui.contract.results import GroupResults  # noqa: PLC0415 - see above

        if not group:
            raise NodusError.not_found("AgentGroup", group)
        return await self._channel.get(GroupResults, f"/groups/{_segment(group)}/results")

    async def sweep_results(self, sweep: str) -> SweepResults:
        """A sweep's cells and what they have come to."""
        from nodus_tui.contract.sweep_results import SweepResults  # noqa: PLC0415 - see above

        if not sweep:
            raise NodusError.not_found("Sweep", sweep)
        return await self._channel.get(SweepResults, f"/sweeps/{_segment(sweep)}/results")

    async def transcript(self, run: str, *, from_turn: int = 0) -> Transcript:
        """A run's conversation, from this index of its turns on, and all its calls."""
        from nodus_tui.contract.resources.agent_run import Transcript  # noqa: PLC0415 - see above

        if not run:
            raise NodusError.not_found("AgentRun", run)
        params = [("fromTurn", str(from_turn))] if from_turn else []
        return await self._channel.get(Transcript, f"/runs/{_segment(run)}/transcript", params)

    async def act(self, action: Action) -> ActionOutcome:
        """Do it, once."""
        from nodus_tui.contract.outcomes import ActionOutcome  # noqa: PLC0415 - see above

        # The id goes with the action too: the backend keeps it with what it did, so that a server's end in between changes nothing.
        named = action if action.request_id else action.model_copy(update={"request_id": _new_key()})
        return await self._channel.post(
            ActionOutcome, "/actions", body=named.model_dump_json(by_alias=True), media=_JSON, key=named.request_id
        )

    async def snapshot(self, *, runs_of: str | None = None) -> Snapshot:
        """The state at a cursor."""
        from nodus_tui.contract.events import Snapshot  # noqa: PLC0415 - see above

        params: Params = [] if runs_of is None else [("runsOf", runs_of)]
        return await self._channel.get(Snapshot, "/snapshot", params)

    def watch(self, *, after: int) -> AsyncIterator[EventBatch]:
        """Everything after a cursor, across broken connections."""
        from nodus_tui.remote.stream import watch  # noqa: PLC0415 - see above

        return watch(self._channel, after)

    async def info(self, *, probe: bool = False) -> BackendInfo:
        """What the backend there is. From here its scheduler is always another process's."""
        from nodus_tui.contract.backend_info import BackendInfo  # noqa: PLC0415 - see above

        told = await self._channel.get(BackendInfo, "/info", [("probe", "true")] if probe else [])
        elsewhere = told.scheduling or told.scheduler_elsewhere
        return told.model_copy(update={"scheduling": False, "scheduler_elsewhere": elsewhere, "notes": (*told.notes, *self.notes)})

    async def gpus(self, *, history: bool = False, rates: bool = True) -> HardwareView:
        """The machine there."""
        from nodus_tui.contract.hardware_view import HardwareView  # noqa: PLC0415 - see above

        params = [("history", "true")] if history else []
        if not rates:
            try:
                return await self._channel.get(HardwareView, "/gpus", [*params, ("rates", "false")])
            except NodusError as error:
                if error.code is not ErrorCode.INVALID_REQUEST:
                    raise
                # A server that does not know this wish yet refuses it, and tells everything where it is asked without.
        return await self._channel.get(HardwareView, "/gpus", params)

    async def sandboxes(self) -> tuple[SandboxFact, ...]:
        """Every sandbox of ours on the machine there."""
        from nodus_tui.remote.listings import Sandboxes  # noqa: PLC0415 - see above

        return (await self._channel.get(Sandboxes, "/sandboxes")).sandboxes

    async def reap_sandboxes(self) -> ReapOutcome:
        """Remove those of dead owners there."""
        from nodus_tui.contract.sandboxes import ReapOutcome  # noqa: PLC0415 - see above

        return await self._channel.post(ReapOutcome, "/sandboxes/reap", key=_new_key())

    async def files(self, run: str) -> tuple[FileEntry, ...]:
        """The files in a run's work folder."""
        if not run:
            raise NodusError.not_found("AgentRun", run)
        return await self._files(f"/runs/{_segment(run)}/files")

    async def _files(self, path: str) -> tuple[FileEntry, ...]:
        from nodus_tui.remote.listings import Files  # noqa: PLC0415 - see above

        return (await self._channel.get(Files, path)).files

    def read_file(self, run: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them, as they come."""
        from nodus_tui.remote.pieces import file_bytes  # noqa: PLC0415 - see above

        return file_bytes(self._channel, f"/runs/{_segment(run)}/files/content", "AgentRun", run, path)

    async def job_log(self, job: str, *, after: int = 0, limit: int = 65_536, wait_seconds: float = 0) -> JobLog:
        """What a job wrote, from a place on."""
        from nodus_tui.contract.resources.job import JobLog  # noqa: PLC0415 - see above

        if not job:
            raise NodusError.not_found("Job", job)
        params = [("after", str(after)), ("limit", str(limit)), ("waitSeconds", f"{wait_seconds:g}")]
        return await self._channel.get(JobLog, f"/jobs/{_segment(job)}/log", params, waits_seconds=wait_seconds)

    async def job_files(self, job: str) -> tuple[FileEntry, ...]:
        """The outputs of a job that has ended."""
        if not job:
            raise NodusError.not_found("Job", job)
        return await self._files(f"/jobs/{_segment(job)}/files")

    def read_job_file(self, job: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them, as they come."""
        from nodus_tui.remote.pieces import file_bytes  # noqa: PLC0415 - see above

        return file_bytes(self._channel, f"/jobs/{_segment(job)}/files/content", "Job", job, path)

    async def exec_start(self, sandbox: str, request: ExecRequest, *, request_id: str = "") -> ExecSession:
        """Start a command in a Sandbox there."""
        from nodus_tui.contract.sandbox_exec import ExecSession  # noqa: PLC0415 - see above

        if not sandbox:
            raise NodusError.not_found("Sandbox", sandbox)
        body = request.model_dump_json(by_alias=True)
        return await self._channel.post(
            ExecSession, f"/sandboxes/{_segment(sandbox)}/exec", body=body, media=_JSON, key=request_id or _new_key()
        )

    def exec_output(
        self, sandbox: str, session: str, *, after: int = 0, wait_seconds: float = OUTPUT_SECONDS
    ) -> AsyncIterator[ExecPiece | ExecEnd]:
        """What a command writes from a place on, across broken connections."""
        from nodus_tui.remote.commands import output  # noqa: PLC0415 - see above

        return output(self._channel, f"{_session(sandbox, session)}/output", after, wait_seconds)

    async def exec_input(self, sandbox: str, session: str, data: bytes, *, offset: int, end: bool = False) -> ExecTaken:
        """Feed a command, or type on its terminal."""
        from nodus_tui.contract.sandbox_exec import ExecTaken  # noqa: PLC0415 - see above

        params = [("offset", str(offset)), *([("end", "true")] if end else [])]
        address = f"{_session(sandbox, session)}/input"
        return await self._channel.post(ExecTaken, address, params, body=data, media=BYTES_TYPE, key=_new_key())

    async def exec_resize(self, sandbox: str, session: str, terminal: TerminalShape) -> None:
        """A command's terminal has another size."""
        params = [("rows", str(terminal.rows)), ("columns", str(terminal.columns))]
        await self._channel.send(f"{_session(sandbox, session)}/terminal", params, key=_new_key())

    async def exec_signal(self, sandbox: str, session: str, signal: ExecSignal) -> None:
        """Send a signal to a command and its session."""
        await self._channel.send(f"{_session(sandbox, session)}/signal", [("signal", signal)], key=_new_key())

    async def sandbox_files(self, sandbox: str) -> tuple[FileEntry, ...]:
        """The files in a Sandbox's work folder."""
        if not sandbox:
            raise NodusError.not_found("Sandbox", sandbox)
        return await self._files(f"/sandboxes/{_segment(sandbox)}/files")

    def read_sandbox_file(self, sandbox: str, path: str) -> AsyncIterator[bytes]:
        """The bytes of one of them, as they come."""
        from nodus_tui.remote.pieces import file_bytes  # noqa: PLC0415 - see above

        return file_bytes(self._channel, f"/sandboxes/{_segment(sandbox)}/files/content", "Sandbox", sandbox, path)

    def check_environment(
        self, reference: str, *, split: str | None = None, tasks: int | None = None, seed: int = 0
    ) -> AsyncIterator[GoldCase]:
        """The gold check there, case by case."""
        from nodus_tui.remote.pieces import gold_cases  # noqa: PLC0415 - see above

        asked = (("reference", reference), ("split", split), ("tasks", tasks), ("seed", seed))
        return gold_cases(self._channel, "/environments/check", [(name, str(value)) for name, value in asked if value is not None])

    async def environment_tasks(self, reference: str, *, split: str = "test", seed: int = 0, after: int = 0, limit: int = 50) -> TaskPage:
        """Tasks of an environment there."""
        from nodus_tui.contract.environment_tasks import TaskPage  # noqa: PLC0415 - see above

        asked = (("reference", reference), ("split", split), ("seed", seed), ("after", after), ("limit", limit))
        return await self._channel.get(TaskPage, "/environments/tasks", [(name, str(value)) for name, value in asked])

    async def scheduler_view(self, *, after: int = -LOG_BYTES, limit: int = LOG_BYTES) -> SchedulerView:
        """Who does the work there, and its log."""
        from nodus_tui.contract.scheduler_view import SchedulerView  # noqa: PLC0415 - see above

        return await self._channel.get(SchedulerView, "/scheduler", [("after", str(after)), ("limit", str(limit))])

    async def stop_work(self, *, grace_seconds: float, groups: tuple[str, ...] = ()) -> None:
        """Stop groups there, or without names everything that is at work there."""
        params = [("graceSeconds", f"{grace_seconds:g}"), *(("group", name) for name in groups)]
        await self._channel.send("/stop-work", params, key=_new_key(), read_seconds=grace_seconds + READ_SECONDS)

    async def aclose(self) -> None:
        """Close the connections; the work goes on."""
        await self._channel.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def _new_key() -> str:
    return uuid.uuid4().hex


def _session(sandbox: str, session: str) -> str:
    return f"/sandboxes/{_segment(sandbox)}/exec/{_segment(session)}"


def _segment(name: str) -> str:
    """A name as one part of a path; what would mean a folder means a name."""
    return "%2E" * len(name) if name in {".", ".."} else quote(name, safe="")
