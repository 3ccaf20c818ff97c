"""Planning Sandboxes: whether this version gives such a one, whether its cap pays for any time, and whether it is new."""

from local_backend.applying.definitions import Planning
from local_backend.applying.devices import Terms, terms_of
from local_backend.applying.plan import BoxNeed
from local_backend.sandbox_kind.describing import created
from local_backend.sandbox_kind.limits import limits_of
from local_backend.storage.sandbox_records import SandboxRecord
from nodus_tui.contract.errors import Fault
from nodus_tui.contract.money import nano_from_usd
from nodus_tui.contract.outcomes import AppliedDocument
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.spec_loading.bundle import LoadedDocument

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
        terms = await self._terms(document, sandbox)
        reason = terms.refusal
        if reason:
            plan.refusals.append(f"Sandbox {sandbox.name} is valid, but {reason}")
        if faults := self._cap(document, sandbox, terms):
            plan.faults += faults
            return
        record = SandboxRecord(
            name=sandbox.name,
            metadata=sandbox.metadata.to_document(),
            spec=sandbox.spec.to_document(),
            cap=nano_from_usd(sandbox.spec.max_cost_usd),
            rate=terms.rate or 0,
            created_at=self._planning.now,
        )
        plan.statements += created(record, self._planning.now)
        plan.paid_from[f"Sandbox {sandbox.name}"] = record.metadata
        plan.boxes.append(BoxNeed(sandbox.name, sandbox.spec))
        message = f"Sandbox {sandbox.name} is valid, but {reason}: apply refuses it" if reason else ""
        plan.applied.append(AppliedDocument(kind="Sandbox", name=sandbox.name, outcome="refused" if reason else "created", message=message))

    async def _terms(self, document: LoadedDocument, sandbox: Sandbox) -> Terms:
        if any(document.in_doubt("spec", each) for each in _DECIDE_THE_RATE):
            return Terms(None)
        known, spec = self._planning.known, sandbox.spec
        return await terms_of(known.devices, known.rates, spec, cpus=spec.cpus, memory_gib=spec.memory_gib)

    def _cap(self, document: LoadedDocument, sandbox: Sandbox, terms: Terms) -> list[Fault]:
        rate, spec = terms.rate, sandbox.spec
        if rate is None or document.in_doubt("spec", "maxCostUSD"):
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
