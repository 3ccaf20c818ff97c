"""Estimates over a workspace: each document's ceiling, with the agent and the model that a group would run on. Reads only."""

from collections.abc import Mapping
from decimal import Decimal

from local_backend.applying.lookups import Lookups
from local_backend.models.catalogue import CatalogueProblem, ResolvedModel
from local_backend.models.served import ServedFamily
from local_backend.models.token_bound import input_bound
from local_backend.models.wire import ChatMessage, ModelRequest
from local_backend.tools.definitions import definitions
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.estimates import Estimate, KindEstimate
from nodus_tui.contract.money import display_usd, enough_text, exact_usd, usd_from_nano
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.statistics.estimate import estimate_group

_WITHOUT = {"Agent", "Environment", "Budget"}
"""Kinds that cost nothing by themselves."""


async def estimate_bundle(
    bundle: SpecBundle, minutes_per_case: Decimal, lookups: Lookups, rates: Mapping[str, Decimal]
) -> tuple[Estimate | KindEstimate, ...]:
    """What each document costs at most, and how long it takes. `rates` are US dollars an hour by hardware. Raises NodusError."""
    bundle.refuse_mended()
    made: list[Estimate | KindEstimate] = []
    served = await _served(bundle, lookups)
    for document in bundle:
        resource = document.resource
        if isinstance(resource, AgentGroup):
            agent = await _agent_of(bundle, document, resource, lookups)
            here = {**rates, **await lookups.electric_rates((agent.spec.sandbox.hardware,))}
            made.append(_estimate(document, resource, agent, minutes_per_case, lookups, served, here))
        elif resource.kind not in _WITHOUT:
            from local_backend.estimating_kinds import estimate_other  # noqa: PLC0415 - most estimates are of groups

            other = await estimate_other(bundle, resource, lookups, rates)
            if other is not None:
                made.append(other)
    return tuple(made)


async def _served(bundle: SpecBundle, lookups: Lookups) -> dict[str, ServedFamily]:
    """The families that jobs serve, here or applied before."""
    served = await lookups.served_families()
    if any(document.resource.kind == "Job" for document in bundle):
        from local_backend.estimating_kinds import with_served  # noqa: PLC0415 - most estimates are of groups

        served = with_served(bundle, served)
    return served


async def _agent_of(bundle: SpecBundle, document: LoadedDocument, group: AgentGroup, lookups: Lookups) -> Agent:
    for each in bundle:
        if isinstance(each.resource, Agent) and each.resource.name == group.spec.agent:
            return each.resource
    stored = await lookups.newest_agent(group.spec.agent)
    if stored is None:
        fault = document.fault(("spec", "agent"), f'there is no Agent "{group.spec.agent}", here or applied before')
        raise NodusError.invalid_spec((fault,))
    return stored[0]


def _estimate(
    document: LoadedDocument,
    group: AgentGroup,
    agent: Agent,
    minutes: Decimal,
    lookups: Lookups,
    served: Mapping[str, ServedFamily],
    rates: Mapping[str, Decimal],
) -> Estimate:
    notes: tuple[str, ...] = ()
    simulated = notional = waits = False
    try:
        model = lookups.model_of(agent, served)
        simulated, notional = model.simulated, model.notional
        notes = _price_notes(agent, model) if not model.served_by else _server_notes(served[model.family])
        waits = not model.price.free and _first_call(agent, model) > agent.spec.per_run_max_cost_usd
    except CatalogueProblem as problem:
        notes = (f"it cannot be launched as it stands: {problem.detail}",)
    try:
        return estimate_group(
            group=group,
            agent=agent.spec,
            minutes_per_case=minutes,
            rates=rates,
            simulated=simulated,
            notional=notional,
            extra_notes=notes,
            every_run_waits=waits,
        )
    except ValueError as error:
        raise NodusError.invalid_spec((document.fault((), str(error)),)) from error


def _server_notes(server: ServedFamily) -> tuple[str, ...]:
    """What a served model costs beside the group's own caps."""
    at_most = display_usd(usd_from_nano(server.cap))
    note = (
        f"Its model is served by Job {server.job}, whose time is its cost: {at_most} at most, beside this and under that job's own cap. "
        "A token of it costs nothing, so that no cap on model spend is ever reached."
    )
    return (note,)


def _price_notes(agent: Agent, model: ResolvedModel) -> tuple[str, ...]:
    """What the model's price means for the agent's cap, before anything is launched."""
    if model.price.free:
        return ("The model costs nothing a token, so that no cap of it is ever reached.",) if not model.simulated else ()
    spec, worst = agent.spec, _first_call(agent, model)
    if worst <= spec.per_run_max_cost_usd:
        return ()
    given = "an empty prompt" if not spec.tools else "an empty prompt and the tools' descriptions"
    note = (
        f"Even a call with {given} may cost up to {enough_text(worst)} (maxTokens {spec.model.max_tokens:,}), and a run's cap is "
        f"{exact_usd(spec.per_run_max_cost_usd)}: every run would wait at its cap. Raise perRunMaxCostUSD or lower maxTokens."
    )
    return (note,)


def _first_call(agent: Agent, model: ResolvedModel) -> Decimal:
    """What a run's first call may cost at worst, with an empty prompt, in US dollars."""
    spec = agent.spec
    tools = definitions(spec.tools, command_seconds=spec.sandbox.command_timeout.total_seconds(), workdir="/task")
    shortest = ModelRequest(spec.system, (ChatMessage("user", ""),), spec.model.max_tokens, tools=tools)
    return usd_from_nano(model.price.worst_case_nano(input_bound(shortest), shortest.max_tokens))
