"""Planning sweeps: the cells of the matrix, each checked as its own document would be, with faults told where they stand in the sweep."""

from collections.abc import Awaitable, Callable

from local_backend.applying.definitions import Planning
from local_backend.applying.plan import Plan
from local_backend.storage.sweep_records import CellRecord, SweepRecord
from local_backend.sweeps.cells import LONGEST_CELL_NAME, Cell, CellFaultsError, cell_names, cells_of
from local_backend.sweeps.engine import cell_metadata
from local_backend.sweeps.telling import created
from nodus_tui.contract.errors import Fault
from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.outcomes import AppliedDocument, Change
from nodus_tui.contract.resources.agent_group import AgentGroupSpec
from nodus_tui.contract.resources.job import JobSpec
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.resources.sweep import Sweep, SweepSpec
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, path_text
from nodus_tui.values import replace

PlanCell = Callable[[Planning, LoadedDocument], Awaitable[None]]
"""Plans a document of any kind that apply accepts."""


class _CellDocument(LoadedDocument, frozen=True):
    """A cell as a document of its own, whose faults stand in the sweep's."""

    sweep: LoadedDocument | None = None
    cell: Cell | None = None

    def _origin(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        if self.cell is None or path[:1] != ("spec",):
            return path
        return ("spec", *self.cell.origin(path[1:]))

    def in_doubt(self, *path: str | int) -> bool:
        """Whether the value in the sweep's document that this one comes from is made up. Its name is its sweep's affair."""
        return path[:1] == ("metadata",) or (self.sweep is not None and self.sweep.in_doubt(*self._origin(path)))

    def fault(self, path: tuple[str | int, ...], message: str, suggestion: str = "") -> Fault:
        """A fault at the field of the sweep that this cell's field comes from."""
        if self.sweep is None:
            return super().fault(path, message, suggestion)
        return self.sweep.fault(self._origin(path), message, suggestion)


class SweepPlanning:
    """The sweeps of one plan, after its definitions."""

    def __init__(self, planning: Planning, plan_cell: PlanCell) -> None:
        self._planning = planning
        self._plan_cell = plan_cell

    async def sweep(self, document: LoadedDocument, sweep: Sweep) -> None:
        """A new sweep, or a change in place of one that exists."""
        plan = self._planning.plan
        named = not document.in_doubt("metadata", "name")
        rows = await self._planning.store.read("SELECT * FROM sweeps WHERE name = ?", (sweep.name,)) if named else []
        if rows:
            self._existing(document, sweep, SweepRecord.from_row(rows[0]))
            return
        if document.in_doubt("spec", "matrix") or document.in_doubt("spec", "template") or document.in_doubt("spec", "repetitions"):
            return
        before = len(plan.faults) + len(plan.conflicts)
        cells = self._cells(document, sweep)
        if named:
            plan.faults += _name_faults(document, sweep)
            plan.conflicts += await self._taken(document, sweep)
        if not cells:
            return
        metadata = {**sweep.metadata.to_document(), "labels": dict(sweep.metadata.labels)}
        record = SweepRecord(
            name=sweep.name,
            metadata=metadata,
            spec=sweep.spec.to_document(),
            folder=str(document.folder.absolute()) if document.folder else None,
            pins={},
            cap=nano_from_usd(sweep.spec.max_cost_usd),
            max_parallel=sweep.spec.max_parallel,
            created_at=self._planning.now,
        )
        refused = await self._check(document, sweep, record, cells)
        if len(plan.faults) + len(plan.conflicts) > before:
            return
        record.pins = await self._revisions(cells)
        plan.statements += created(record, [_record_of(cell, sweep) for cell in cells])
        plan.paid_from[sweep.name] = cell_metadata(record, sweep.name)
        plan.sweeps.append(sweep.name)
        spec = sweep.spec
        message = f"{len(cells)} cells of {spec.template.kind}, at most {spec.max_parallel} at once, cap {display_usd(spec.max_cost_usd)}"
        plan.applied.append(
            AppliedDocument(kind="Sweep", name=sweep.name, outcome="refused" if refused else "created", message=refused or message)
        )

    def _cells(self, document: LoadedDocument, sweep: Sweep) -> tuple[Cell, ...]:
        template = sweep.spec.template.spec
        if isinstance(template, JobSpec) and template.serve is not None:
            said = "the cells of a sweep run to their ends, and a job that serves does not: launch it beside the sweep"
            self._planning.plan.faults.append(document.fault(("spec", "template", "spec", "serve"), said))
            return ()
        try:
            return cells_of(sweep.name, sweep.spec)
        except CellFaultsError as error:
            self._planning.plan.faults += [document.fault(("spec", *fault.path), fault.message, fault.suggestion) for fault in error.faults]
            return ()

    async def _taken(self, document: LoadedDocument, sweep: Sweep) -> list[Fault]:
        """Names of cells that something else has: a cell that nobody can launch is told now."""
        names = cell_names(sweep.name, sweep.spec.cells)
        table = "groups" if sweep.spec.template.kind == "AgentGroup" else "jobs"
        rows = await self._planning.store.read(
            f"SELECT name FROM {table} WHERE name BETWEEN ? AND ? "  # noqa: S608 - one of two constants
            "UNION SELECT name FROM sweep_cells WHERE name BETWEEN ? AND ?",
            (names[0], names[-1], names[0], names[-1]),
        )
        taken = sorted({str(row["name"]) for row in rows} & set(names))
        if not taken:
            return []
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        said = f"the cells of {sweep.name} are called {names[0]} to {names[-1]}, and {taken[0]}{more} exists already: give it another name"
        return [document.fault(("metadata", "name"), said)]

    async def _check(self, document: LoadedDocument, sweep: Sweep, record: SweepRecord, cells: tuple[Cell, ...]) -> str:
        """Check one cell of each variant, on its last shard, as its own document. Gives why this version runs none of them, if so."""
        plan, planning = self._planning.plan, self._planning
        first = [cell for cell in cells if cell.axes.get("repetition", 1) == 1]
        variants = [cell for cell in first if cell.axes.get("shard", 1) == sweep.spec.matrix.shards]
        found: dict[Fault, None] = {}
        refusals: list[str] = []
        for cell in variants:
            scratch = Plan(files=plan.files)
            resource = KINDS[cell.kind].model_validate({"metadata": cell_metadata(record, cell.name), "spec": cell.spec})
            inner = _CellDocument(resource, document.file, document.index, document.folder, document.positions, sweep=document, cell=cell)
            await self._plan_cell(replace(planning, plan=scratch, served=dict(planning.served)), inner)
            found |= dict.fromkeys(self._told(document, cell, fault) for fault in scratch.faults)
            refusals += scratch.refusals
            plan.needs += scratch.needs
            plan.jobs += scratch.jobs
        plan.faults += found
        if not refusals:
            return ""
        plan.refusals.append(f"Sweep {sweep.name} is valid, but its cells are not run here: {refusals[0]}")
        return f"{plan.refusals[-1]}: apply refuses it"

    def _told(self, document: LoadedDocument, cell: Cell, fault: Fault) -> Fault:
        """A fault of the last slice is one of how many slices there are."""
        if fault.path == path_text(("spec", "matrix", "shards")) and isinstance(cell.spec, AgentGroupSpec) and cell.spec.evaluation:
            of, tasks = cell.axes.get("shard", 1), cell.spec.evaluation.tasks
            there = fault.message.partition(":")[0]
            return document.fault(("spec", "matrix", "shards"), f"{there}: that many are {of} shards of {tasks} tasks each")
        return fault

    async def _revisions(self, cells: tuple[Cell, ...]) -> dict[str, int]:
        pins: dict[str, int] = {}
        for name in {cell.spec.agent for cell in cells if isinstance(cell.spec, AgentGroupSpec)}:
            if name in self._planning.agents:
                pins[name] = self._planning.agents[name][1]
            elif (stored := await self._planning.known.newest_agent(name)) is not None:
                pins[name] = stored[1]
        return pins

    def _existing(self, document: LoadedDocument, sweep: Sweep, record: SweepRecord) -> None:
        """A sweep that exists: its cap and maxParallel change in place, everything else is a conflict."""
        plan, launched = self._planning.plan, SweepSpec.model_validate(record.spec)
        in_place = {"max_cost_usd": launched.max_cost_usd, "max_parallel": launched.max_parallel}
        if sweep.spec.model_copy(update=in_place) != launched:
            if not document.stand_ins:
                plan.conflicts.append(
                    document.fault(
                        ("metadata", "name"),
                        f"Sweep {sweep.name} exists with another spec; only maxCostUSD (upwards) and maxParallel change in place: "
                        "give the new one another name",
                    )
                )
            return
        cap = nano_from_usd(sweep.spec.max_cost_usd)
        if cap < record.cap:
            # Written lower than a cap that was raised since: as launched means unchanged, anything else is a wish to lower it.
            if sweep.spec.max_cost_usd != launched.max_cost_usd:
                now = display_usd(usd_from_nano(record.cap))
                said = f"a cap is raised, never lowered: {sweep.name} has {now} now"
                plan.conflicts.append(document.fault(("spec", "maxCostUSD"), said))
                return
            cap = record.cap
        changes = []
        if cap != record.cap:
            old, new = usd_text(usd_from_nano(record.cap)), usd_text(usd_from_nano(cap))
            changes.append(Change(kind="Sweep", name=sweep.name, field="maxCostUSD", old=old, new=new))
        if sweep.spec.max_parallel != record.max_parallel:
            old, new = str(record.max_parallel), str(sweep.spec.max_parallel)
            changes.append(Change(kind="Sweep", name=sweep.name, field="maxParallel", old=old, new=new))
        if changes:
            plan.sweep_changes.append((sweep.name, cap, sweep.spec.max_parallel))
        plan.applied.append(
            AppliedDocument(
                kind="Sweep",
                name=sweep.name,
                outcome="changed" if changes else "unchanged",
                message=str(record.phase),
                changes=tuple(changes),
            )
        )


def _name_faults(document: LoadedDocument, sweep: Sweep) -> list[Fault]:
    last = cell_names(sweep.name, sweep.spec.cells)[-1]
    if len(last) <= LONGEST_CELL_NAME:
        return []
    most = LONGEST_CELL_NAME - (len(last) - len(sweep.name))
    said = (
        f"the name has {len(sweep.name)} letters; a sweep's of {sweep.spec.cells} cells has at most {most}, for its cells are called {last}"
    )
    return [document.fault(("metadata", "name"), said)]


def _record_of(cell: Cell, sweep: Sweep) -> CellRecord:
    cap = nano_from_usd(cell.spec.max_cost_usd)
    return CellRecord(sweep.name, cell.place, cell.name, cell.kind, dict(cell.axes), cell.spec.to_document(), cap)
