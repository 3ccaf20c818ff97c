"""Planning Sandboxes: whether this version gives such a one, whether its cap pays for any time, and whether it is new."""

from local_backend.applying.definitions import Planning
from local_backend.applying.plan import BoxNeed
from local_backend.sandbox_kind.accelerators import refused_hardware
from local_backend.sandbox_kind.describing import created
from local_backend.sandbox_kind.limits import limits_of
from local_backend.storage.sandbox_records import SandboxRecord
from nodus_tui.contract.actions import AppliedDocument
from nodus_tui.contract.errors import Fault
from nodus_tui.contract.money import nano_ceiling, nano_from_usd
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.spec_loading.bundle import LoadedDocument
from nodus_tui.statistics.hardware_rates import slice_rate

_DECIDE_THE_RATE = ("cpus", "memoryGiB", "hardware", "accelerators")


class SandboxPlanning:
    """The Sandboxes of one plan."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning

    async def sandbox(self, document: LoadedDocument, sandbox: Sandbox) -> None:
        """A new one to start; one that exists is never changed."""
        plan = self._planning.plan
        if await self._stands_already(document, sandbox):
            return
        reason = refused_hardware(sandbox.spec)
        if reason:
            plan.refusals.append(f"Sandbox {sandbox.name} is valid, but {reason}")
        if faults := self._cap(document, sandbox):
            plan.faults += faults
            return
        record = SandboxRecord(
            name=sandbox.name,
            metadata=sandbox.metadata.to_document(),
            spec=sandbox.spec.to_document(),
            cap=nano_from_usd(sandbox.spec.max_cost_usd),
            rate=self._rate(sandbox) or 0,
            created_at=self._planning.now,
        )
        plan.statements += created(record, self._planning.now)
        plan.paid_from[f"Sandbox {sandbox.name}"] = record.metadata
        plan.boxes.append(BoxNeed(sandbox.name, sandbox.spec))
        message = f"Sandbox {sandbox.name} is valid, but {reason}: apply refuses it" if reason else ""
        plan.applied.append(
            AppliedDocument(kind="Sandbox", name=sandbox.name, outcome="unchanged" if reason else "created", message=message)
        )

    def _rate(self, sandbox: Sandbox) -> int | None:
        spec = sandbox.spec
        rate = slice_rate(self._planning.known.rates, spec.hardware, spec.cpus, spec.memory_gib, spec.accelerators)
        return None if rate is None else nano_ceiling(rate)

    def _cap(self, document: LoadedDocument, sandbox: Sandbox) -> list[Fault]:
        rate, spec = self._rate(sandbox), sandbox.spec
        if rate is None or any(document.in_doubt("spec", each) for each in ("maxCostUSD", *_DECIDE_THE_RATE)):
            return []
        try:
            limits_of(cap=nano_from_usd(spec.max_cost_usd), rate=rate, idle=spec.idle_timeout, lifetime=spec.max_lifetime)
        except ValueError as error:
            return [document.fault(("spec", "maxCostUSD"), f"this cap is too small: {error}")]
        return []

    async def _stands_already(self, document: LoadedDocument, sandbox: Sandbox) -> bool:
        if document.in_doubt("metadata", "name"):
            return False
        rows = await self._planning.store.read("SELECT * FROM sandboxes WHERE name = ?", (sandbox.name,))
        if not rows:
            return False
        record = SandboxRecord.from_row(rows[0])
        if record.box == sandbox.spec:
            self._planning.plan.applied.append(
                AppliedDocument(kind="Sandbox", name=sandbox.name, outcome="unchanged", message=record.phase)
            )
        elif not document.in_doubt("spec"):
            self._planning.plan.conflicts.append(
                document.fault(
                    ("metadata", "name"),
                    f"there is a Sandbox {sandbox.name} with another spec ({record.phase}), and one is never changed: give this one "
                    "another name, or delete that one first",
                )
            )
        return True
