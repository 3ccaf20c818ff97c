"""Dry runs of documents with faults: what else is wrong is told, what only follows from a fault is not, and nothing is made of them."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from engine_place import NUMBERS, Place, agent, at_rest, environment, group

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.spec_loading.checking import check_specs
from nodus_tui.contract.spec_loading.loader import ReadSpecs, SpecSource, read_specs


def read(place: Place, *documents: Mapping[str, Any] | str) -> ReadSpecs:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in documents]
    return read_specs([SpecSource("spec.yaml", "\n---\n".join(texts).encode(), place.folder)])


def with_spec(document: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**document, "spec": {**document["spec"], **spec}}


def named(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {**document, "metadata": {"name": name}}


async def found(place: Place, *documents: Mapping[str, Any] | str) -> list[tuple[int, str]]:
    """Document and path of every fault that the texts alone do not show."""
    made = read(place, *documents)
    assert made.faults
    async with place.backend("look") as backend:
        with pytest.raises(NodusError) as refused:
            await check_specs(backend, made)
    assert refused.value.code is ErrorCode.INVALID_SPEC
    assert set(made.faults) <= set(refused.value.faults)
    places = [(fault.file != "spec.yaml", fault.document, fault.line, fault.column) for fault in refused.value.faults]
    assert places == sorted(places)
    return [(fault.document, fault.path) for fault in refused.value.faults if fault not in made.faults]


async def test_what_was_mended_is_neither_applied_nor_estimated(place: Place) -> None:
    bundle = read(place, environment(), agent(), group(max_active=0)).bundle
    assert len(bundle.documents) == 3
    async with place.backend() as backend:
        before = await backend.snapshot(runs_of="")
        for call in (backend.apply(bundle), backend.estimate(bundle, minutes_per_case=Decimal(1))):
            with pytest.raises(NodusError, match="for checking only") as refused:
                await call
            assert refused.value.code is ErrorCode.INVALID_SPEC
        outcome = await backend.apply(bundle, dry_run=True)
        assert [each.outcome for each in outcome.documents] == ["created"] * 3
        assert await backend.snapshot(runs_of="") == before
        assert [len((await backend.list(kind)).items) for kind in ("Agent", "AgentGroup", "Environment")] == [0, 0, 0]


async def test_texts_without_a_fault_are_left_to_their_apply(place: Place) -> None:
    made = read(place, group(environment="nowhere@1"))
    async with place.backend("look") as backend:
        assert await check_specs(backend, made) is made.bundle


OTHER_FAULT = {"maxActive": 0}
CONSEQUENCES: dict[str, tuple[list[Mapping[str, Any] | str], list[tuple[int, str]]]] = {
    "nothing else is wrong": ([environment(), agent(), group(max_active=0)], []),
    "an unknown agent and an unknown environment beside": (
        [group(max_active=0, environment="nowhere@1")],
        [(0, "spec.agent"), (0, "spec.evaluation.environment")],
    ),
    "too many tasks beside": ([environment(), agent(), group(max_active=0, tasks=99)], [(2, "spec.evaluation.tasks")]),
    "a faulty split: the count of tasks is not known": ([environment(), agent(), group(split="dev", tasks=99)], []),
    "a split under a wrong name": ([environment(), agent(), group(splt="train", tasks=99)], []),
    "a faulty split: the version is still wrong": (
        [environment(), agent(), group(split="dev", environment="numbers@2")],
        [(2, "spec.evaluation.environment")],
    ),
    "faulty tasks": ([environment(), agent(), group(tasks=1000)], []),
    "a faulty environment": ([agent(), group(environment="numbers")], []),
    "a faulty agent": ([environment(), with_spec(group(), agent="No Name")], []),
    "an agent with a faulty name may be the one that is named": ([environment(), named(agent(), "No Name"), group()], []),
    "an agent without families": ([environment(), with_spec(agent(), model={}), group()], []),
    "an agent with an unknown family and another fault": (
        [environment(), with_spec(agent("nobody"), maxTurns=0), group()],
        [(1, "spec.model.families")],
    ),
    "an agent that breaks off": ([environment(), json.dumps(agent())[:-1], group()], []),
    "an agent of another name that breaks off": (
        [environment(), json.dumps(named(agent(), "else"))[:-1], group()],
        [(2, "spec.agent")],
    ),
    "an environment with a faulty grader: its tasks cannot be looked at": ([environment({"type": "guess"}), agent(), group(tasks=99)], []),
    "an environment with a faulty grader has a version": (
        [environment({"type": "guess"}), agent(), group(environment="numbers@2")],
        [(2, "spec.evaluation.environment")],
    ),
    "an environment with a faulty version": ([environment(version="one and two"), agent(), group(environment="numbers@2")], []),
    "an environment with a faulty version is read all the same": (
        [environment(version="one and two", file="missing.jsonl"), agent(), group()],
        [(0, "")],
    ),
    "an environment with a faulty name may be the one that is named": ([named(environment(), "No Name"), agent(), group()], []),
    "an environment of the catalogue is no file's": (
        ["kind: Environment\nmetadata: [", agent(), group(environment="nodus/nothing@1")],
        [(2, "spec.evaluation.environment")],
    ),
    "an environment that stands twice": ([environment(), environment(version="2"), agent(), group()], []),
    "a group's name that is too long": ([environment(), agent(), group(name="x" * 55, max_active=0)], [(2, "metadata.name")]),
    "a group's name that is no name": ([environment(), agent(), group(name="X" * 70)], []),
}


@pytest.mark.parametrize("case", CONSEQUENCES)
async def test_what_follows_from_a_fault_is_not_told(case: str, place: Place) -> None:
    place.tasks(NUMBERS[:5])
    documents, expected = CONSEQUENCES[case]
    assert await found(place, *documents) == expected


async def test_a_launched_group_is_compared_by_what_is_written(place: Place) -> None:
    async with place.backend() as backend:
        await backend.apply(place.specs(environment(), agent("sim"), group()))
        await at_rest(backend)
    assert await found(place, group(timeout="59s")) == []
    assert await found(place, group(timeout="59s", seed=5)) == [(0, "metadata.name")]
    assert await found(place, group(cap="0.00")) == []
