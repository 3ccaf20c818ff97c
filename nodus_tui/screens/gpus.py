"""The machine that does the work: its devices and who has them, the processes on them with their runs and jobs, CPU, memory, disk."""

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from nodus_tui.contract.errors import NodusError
from nodus_tui.screens.base import bindings_of
from nodus_tui.screens.going import go_to_box, go_to_job, go_to_run
from nodus_tui.screens.services import Services
from nodus_tui.screens.table_screen import RowsScreen
from nodus_tui.view_state.cells import Line, Tone, line, muted
from nodus_tui.view_state.hardware import DeviceRow, HardwareState, ProcessRow
from nodus_tui.view_state.key_actions import View
from nodus_tui.view_state.wrapping import clipped
from nodus_tui.widgets.key_bar import Offer
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock

LOOK_SECONDS = 1.0
"""How often the backend is asked while this view is in front."""

_DETAIL_LINES = 3
_MOST_DETAIL_LINES = 10
"""Where neither table needs them."""
_LEAST_PROCESSES = 4
"""Lines that the processes keep however many devices there are: titles and three of them."""
_OTHER_LINES = 5
"""Crumbs, two lines of the machine, status, keys."""


class GpusScreen(RowsScreen):
    """Devices above, processes below."""

    VIEW: ClassVar[View] = View.GPUS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(View.GPUS)]
    DEFAULT_CSS = """
    GpusScreen #machine { padding: 0 1; margin: 0 0 1 0; }
    GpusScreen.-short #machine { margin: 0; }
    GpusScreen #device { padding: 0 1; }
    GpusScreen #processes { border-top: solid $tone-track; }
    GpusScreen.-short #processes { border-top: none; }
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.state = HardwareState()
        self._asking = False
        self._height: int | str = ""
        """Of the devices' table."""

    def body(self) -> ComposeResult:
        """The machine, devices, the selected device in words, processes."""
        yield SpanBlock(widget_id="machine")
        yield LineTable(self.state.devices, self.services.now(), widget_id="devices")
        yield SpanBlock(widget_id="device")
        yield LineTable(self.state.processes, self.services.now(), widget_id="processes")

    @property
    def devices(self) -> LineTable[DeviceRow]:
        """The devices and their slices."""
        table: LineTable[DeviceRow] = self.part("devices", LineTable)
        return table

    @property
    def processes(self) -> LineTable[ProcessRow]:
        """The processes on them."""
        table: LineTable[ProcessRow] = self.part("processes", LineTable)
        return table

    @property
    def active_table(self) -> LineTable[Any]:
        """The one that has the keys."""
        return self.processes if self.processes.has_focus else self.devices

    def on_mount(self) -> None:
        """Ask at once, and again while this view is in front."""
        self.focus_home()
        self.set_interval(LOOK_SECONDS, self.look)
        self.look()

    def focus_home(self) -> None:
        """Keys go to the devices."""
        self.devices.focus()

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        return ("GPUs",)

    def headline(self) -> Line:
        """The driver."""
        return self.state.headline()

    def status_parts(self) -> tuple[Line, ...]:
        """How the figures stand, and where the cursor is."""
        table = self.active_table
        what = "process" if table is self.processes else "device"
        place = line(muted(f"{what} {table.place_text}")) if len(table.rows) else ()
        return (self.state.state_words(self.services.now()), place)

    def moving(self) -> bool:
        """The age of figures that are not renewed."""
        return self.state.stale(self.services.now()) or bool(self.state.problem)

    def look(self) -> None:
        """Ask the backend, unless it has not answered yet or another view is in front."""
        if self._asking or self.app.screen is not self:
            return
        self._asking = True
        self.run_worker(self._ask(), exit_on_error=True)

    async def _ask(self) -> None:
        try:
            self.state.take(await self.services.backend.gpus(history=self.state.wants_history), self.services.now())
        except NodusError as error:
            self.state.fail(error.detail)
        finally:
            self._asking = False
        self.show()

    def show_state(self) -> None:
        """The machine, devices, the selected one in words, processes."""
        now = self.services.now()
        self.part("machine", SpanBlock).show(lambda width: clipped(self.state.machine_lines(width), width, 4))
        self.devices.show_empty((self.unanswered() if self.state.view is None else ()) or self.state.empty_lines())
        self.devices.show(now)
        self._share_height()
        row = self.devices.cursor_item
        self.part("device", SpanBlock).show(lambda width: clipped(self.state.detail(row, now, width), width, self._detail_lines))
        self.processes.show_empty((line(muted("No process is on a device.")),))
        self.processes.show(now)

    @property
    def _detail_lines(self) -> int:
        """How many lines the selected device is told in at most."""
        tables = len(self.state.devices) + 1 + max(_LEAST_PROCESSES, len(self.state.processes) + 2)
        return max(_DETAIL_LINES, min(_MOST_DETAIL_LINES, self.size.height - _OTHER_LINES - tables))

    def _share_height(self) -> None:
        """The devices take the lines that they need; the processes have the rest."""
        count = len(self.state.devices)
        self.processes.display = count > 0
        room = self.size.height - _OTHER_LINES - _DETAIL_LINES - _LEAST_PROCESSES
        wanted = max(2, min(count + 1, room)) if count else "1fr"
        if self._height != wanted:
            self._height = wanted
            self.devices.styles.height = wanted

    def offer(self) -> Offer:
        """What Enter and Tab do from where the keys go now."""
        if self.processes.has_focus:
            row = self.processes.cursor_item
            run, job = (row.process.run, row.process.job) if row is not None else (None, None)
            without = frozenset() if run or job else frozenset({"go"})
            return Offer(without=without, words={"go": "to the job" if job and not run else "to the run", "halves": "to devices"})
        device = self.devices.cursor_item
        if device is not None and device.holders and self.state.first_process_on(device) is None:
            halves = frozenset() if len(self.state.processes) else frozenset({"halves"})
            return Offer(without=halves, words={"go": "to who has it", "halves": "to processes"})
        none = frozenset() if len(self.state.processes) else frozenset({"go", "halves"})
        return Offer(without=none, words={"go": "its processes", "halves": "to processes"})

    def on_descendant_focus(self) -> None:
        """Tab leads elsewhere now."""
        self.show()

    async def on_line_table_row_opened(self) -> None:
        """A click on the selected row."""
        await self.do_go()

    # Actions

    async def do_go(self) -> None:
        """From a device to its processes, or to who has it where there are none; from a process to its run or job."""
        if not self.processes.has_focus:
            await self._go_from_device()
            return
        row = self.processes.cursor_item
        if row is not None and row.process.run is not None:
            await go_to_run(self, row.process.run)
        elif row is not None and row.process.job is not None:
            go_to_job(self, row.process.job)
        else:
            where = "in a sandbox of another workspace" if row is not None and row.process.sandbox is not None else "of no run or job here"
            self.notice(f"This process is {where}.", Tone.WARN)

    async def _go_from_device(self) -> None:
        row = self.devices.cursor_item
        first = self.state.first_process_on(row) if row is not None else None
        if first is not None:
            self.processes.select(first)
            self.processes.focus()
        elif row is not None and row.holders:
            holder = row.holders[0]
            if holder.kind == "AgentRun":
                await go_to_run(self, holder.name)
            elif holder.kind == "Sandbox":
                go_to_box(self, holder.name)
            else:
                go_to_job(self, holder.name)
        else:
            self.notice("No process is on this device." if row is not None else "There is no device.", Tone.WARN)

    def do_halves(self) -> None:
        """The other table."""
        (self.devices if self.processes.has_focus else self.processes).focus()
