"""What of a group is written: the record of a new one, or the change in place of one that exists."""

from datetime import datetime

from local_backend.applying.plan import Plan
from local_backend.environments.interface import ResolvedEnvironment
from local_backend.models.catalogue import ResolvedModel
from local_backend.reporting import group_status_fields, ledger_of
from local_backend.storage.records import GroupRecord, event
from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.money import display_usd, nano_from_usd, usd_from_nano, usd_text
from nodus_tui.contract.outcomes import AppliedDocument, Change
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.spec_loading.bundle import LoadedDocument


def launch(
    plan: Plan, now: datetime, group: AgentGroup, revision: int, model: ResolvedModel, environment: ResolvedEnvironment | None
) -> None:
    """A new group: its record, its event and its launch."""
    evaluation = group.spec.evaluation
    record = GroupRecord(
        seq=0,
        name=group.name,
        metadata=group.metadata.to_document(),
        spec=group.spec.to_document(),
        agent=group.spec.agent,
        agent_revision=revision,
        cap=nano_from_usd(group.spec.max_cost_usd),
        max_active=group.spec.max_active,
        environment={
            "name": environment.name,
            "version": environment.version,
            "source": environment.source,
            "options": dict(environment.options),
        }
        if environment
        else {},
        model={
            "family": model.family,
            "provider": model.provider,
            "name": model.name,
            "priceSource": model.price.source,
            "simulated": model.simulated,
            "notional": model.notional,
            "servedBy": model.served_by,
        },
        created_at=now,
        deadline_at=now + evaluation.timeout if evaluation else None,
        message="its tasks are being made",
    )
    record.status = group_status_fields(record, [], ledger_of(record, []))
    sql, values = record.save()
    place = "(SELECT coalesce(max(seq), 0) + 1 FROM groups)"
    plan.statements.append((sql.replace("VALUES (?", f"VALUES ({place}", 1), values[1:]))
    plan.statements.append(
        event(now, "Created", "AgentGroup", group.name, group=group.name, status=record.status, spec=record.spec, metadata=record.metadata)
    )
    plan.launches.append(group.name)
    plan.paid_from[group.name] = record.metadata
    plan.applied.append(
        AppliedDocument(
            kind="AgentGroup",
            name=group.name,
            outcome="created",
            message=f"{group.spec.cases} cases on {model.family} ({model.name}), agent revision {revision}, "
            f"cap {display_usd(group.spec.max_cost_usd)}",
        )
    )


def existing_group(plan: Plan, document: LoadedDocument, group: AgentGroup, record: GroupRecord) -> None:
    """A group that exists: its cap and maxActive change in place, everything else is a conflict."""
    launched = AgentGroup.model_validate(
        {"apiVersion": "nodus.dev/v1", "kind": "AgentGroup", "metadata": record.metadata, "spec": record.spec}
    ).spec
    in_place = {"max_cost_usd": launched.max_cost_usd, "max_active": launched.max_active}
    wanted = group.spec.model_copy(update=in_place)
    if document.stand_ins and _written(document, wanted) == _written(document, launched):
        return  # What is made up cannot be compared, and the rest is as it was launched.
    if wanted != launched:
        plan.conflicts.append(
            document.fault(
                ("metadata", "name"),
                f"AgentGroup {group.name} exists with another spec; only maxCostUSD (upwards) and maxActive change in place: "
                "give the new one another name",
            )
        )
        return
    cap, active = nano_from_usd(group.spec.max_cost_usd), group.spec.max_active
    changes = []
    if cap < record.cap:
        # Written lower than a cap that was raised since: as launched means unchanged, anything else is a wish to lower it.
        if group.spec.max_cost_usd != launched.max_cost_usd:
            now = display_usd(usd_from_nano(record.cap))
            plan.conflicts.append(document.fault(("spec", "maxCostUSD"), f"a cap is raised, never lowered: {group.name} has {now} now"))
            return
        cap = record.cap
    if record.phase.ended and (cap, active) != (record.cap, record.max_active):
        plan.conflicts.append(document.fault(("spec",), f"AgentGroup {group.name} has ended ({record.phase}): nothing of it changes"))
        return
    if cap != record.cap:
        old = usd_text(usd_from_nano(record.cap))
        changes.append(Change(kind="AgentGroup", name=group.name, field="maxCostUSD", old=old, new=usd_text(group.spec.max_cost_usd)))
    if active != record.max_active:
        changes.append(Change(kind="AgentGroup", name=group.name, field="maxActive", old=str(record.max_active), new=str(active)))
    if changes:
        plan.raises.append((group.name, cap, active))
    plan.applied.append(
        AppliedDocument.model_validate(
            {
                "kind": "AgentGroup",
                "name": group.name,
                "outcome": "changed" if changes else "unchanged",
                "message": f"{record.phase}",
                "changes": tuple(changes),
            }
        )
    )


def _written(document: LoadedDocument, spec: ContractModel) -> dict[tuple[str, ...], object]:
    """The values of a group's spec by path, without those that are made up in its document."""
    values: dict[tuple[str, ...], object] = {}
    waiting: list[tuple[tuple[str, ...], object]] = [(("spec",), spec.to_document())]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, name), part) for name, part in value.items()]
        elif not document.in_doubt(*path):
            values[path] = value
    return values
