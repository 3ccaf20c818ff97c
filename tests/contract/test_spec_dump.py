"""Resources written as YAML load again to the same resources."""

import string
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from contract_examples import EXAMPLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodus_tui.contract.resources.agent import Agent, AgentModel, AgentSpec, AgentStatus
from nodus_tui.contract.resources.agent_group import AgentGroup, AgentGroupSpec, GroupInput
from nodus_tui.contract.resources.meta import Metadata, Resource
from nodus_tui.contract.spec_loading.dump import dump_yaml
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60),
    st.text(string.printable, max_size=60),
    st.lists(st.text(" ab:#-'\"|>%@`", max_size=8), max_size=6).map("\n".join),
    st.sampled_from(
        [
            "1",
            "0.10",
            "1e3",
            "on",
            "no",
            "null",
            "~",
            "true",
            "010",
            "0x1F",
            "1:30",
            "2024-01-01",
            "<<",
            "=",
            "-",
            "? a",
            "9" * 200,
            ".5",
            "\u2028x",
        ]
    ),
)
MONEY = st.integers(min_value=1, max_value=10**15).map(lambda nano: Decimal(nano).scaleb(-9))


def made(model, /, **fields):
    """A strategy for a model with these fields and no others: nothing is guessed from its annotations."""
    return st.fixed_dictionaries(fields).map(lambda values: model(**values))


METADATA = made(Metadata, name=NAMES, project=st.none() | NAMES, labels=st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=3))
AGENTS = made(
    Agent,
    metadata=METADATA,
    spec=made(
        AgentSpec,
        system=TEXTS,
        model=made(
            AgentModel,
            families=st.lists(NAMES, min_size=1, max_size=3).map(tuple),
            temperature=st.none() | st.floats(min_value=0, max_value=2),
        ),
        per_run_max_cost_usd=MONEY,
        tools=st.sampled_from([(), ("bash",), ("read", "write")]),
    ),
)
INPUTS = made(GroupInput, id=NAMES, prompt=TEXTS.filter(bool))
GROUPS = made(
    AgentGroup,
    metadata=METADATA,
    spec=made(
        AgentGroupSpec,
        agent=NAMES,
        max_active=st.integers(1, 1000),
        max_cost_usd=MONEY,
        evaluation=st.none(),
        inputs=st.lists(INPUTS, min_size=1, max_size=4, unique_by=lambda each: each.id).map(tuple),
    ),
)


def loaded(text: str) -> list[Resource]:
    return [document.resource for document in load_specs([SpecSource("dump.yaml", text.encode())])]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(AGENTS | GROUPS, min_size=1, max_size=3, unique_by=lambda each: (each.kind, each.name)))
def test_any_resources_go_round(resources):
    assert loaded(dump_yaml(resources)) == resources


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_kind_goes_round(kind):
    (resource,) = loaded(EXAMPLES[kind])
    text = dump_yaml([resource])
    assert loaded(text) == [resource]
    assert "null" not in text
    assert "_" not in text.replace("arc_easy", "")


def test_the_text_is_what_a_person_would_write():
    (agent,) = loaded(EXAMPLES["Agent"])
    assert dump_yaml([agent]) == (
        "apiVersion: nodus.dev/v1\n"
        "kind: Agent\n"
        "metadata:\n"
        "  name: worker\n"
        "  project: research\n"
        "  labels:\n"
        "    team: nlp\n"
        "spec:\n"
        "  system: |\n"
        "    Follow the task's answer format.\n"
        "  model:\n"
        "    access: Nodus\n"
        "    families:\n"
        "    - haiku\n"
        "    maxTokens: 1024\n"
        '  perRunMaxCostUSD: "0.10"\n'
        "  sandbox:\n"
        "    hardware: CPU\n"
        "    accelerators: 0\n"
        "    shareAccelerators: false\n"
        "    cpus: 1.0\n"
        "    memoryGiB: 1.0\n"
        "    diskGiB: 1.0\n"
        "    processes: 256\n"
        "    network: false\n"
        "    commandTimeout: 2m\n"
        "    idleTimeout: 10m\n"
        "    maxLifetime: 24h\n"
        "  maxTurns: 50\n"
    )


def test_a_status_is_written_and_does_not_stand_in_the_way_of_loading():
    (agent,) = loaded(EXAMPLES["Agent"])
    with_status = agent.model_copy(update={"status": AgentStatus(revision=2, updated_at=datetime(2026, 1, 2, tzinfo=UTC))})
    text = dump_yaml([with_status])
    assert "status:\n  revision: 2\n  updatedAt: " in text
    assert loaded(text) == [agent]


def test_nothing_gives_nothing():
    assert dump_yaml([]) == ""
