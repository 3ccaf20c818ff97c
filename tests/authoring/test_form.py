"""The guided form's answers become a valid spec, or a sentence for each that is wrong."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.authoring.form import DEFAULT_ANSWERS, QUESTIONS, group_cap, problems, spec_of
from nodus_tui.authoring.templates import TEMPLATES
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs


def test_the_answers_that_stand_at_first_are_valid_and_every_case_has_room() -> None:
    assert not problems(DEFAULT_ANSWERS)
    agent, group = (each.resource for each in load_specs([SpecSource("form", spec_of(DEFAULT_ANSWERS).encode())]))
    assert (agent.kind, group.kind) == ("Agent", "AgentGroup")
    assert group_cap(DEFAULT_ANSWERS) == Decimal("2.00")
    assert group.spec.max_cost_usd == Decimal("2.00")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_any_prompt_stays_what_it_is(prompt: str) -> None:
    text = spec_of({**DEFAULT_ANSWERS, "system": prompt})
    agent = next(iter(load_specs([SpecSource("form", text.encode())]))).resource
    assert agent.spec.system == prompt.strip()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("name", "Bad Name"),
        ("tasks", "0"),
        ("tasks", "x"),
        ("repetitions", "101"),
        ("repetitions", "6"),
        ("timeout", ""),
        ("timeout", "30"),
        ("timeout", "59s"),
        ("timeout", "25h"),
        ("maxTokens", "0"),
        ("maxTokens", "1000001"),
        ("maxActive", "1001"),
        ("runCap", ""),
        ("runCap", "-1"),
        ("tools", "hammer"),
        ("family", " "),
    ],
)
def test_a_wrong_answer_has_a_sentence(question: str, answer: str) -> None:
    assert question in problems({**DEFAULT_ANSWERS, question: answer})


def test_tools_stand_in_the_agent() -> None:
    agent = next(iter(load_specs([SpecSource("form", spec_of({**DEFAULT_ANSWERS, "tools": "bash, submit"}).encode())]))).resource
    assert agent.spec.tools == ("bash", "submit")


def test_it_writes_what_a_person_begins_with() -> None:
    """The same fields in the same order and the same hand as the templates, which stand for what a person writes."""
    written = "---\n".join(TEMPLATES[kind] for kind in ("Agent", "AgentGroup")).replace("my-agent", "my-group-agent")
    bare = [line for line in written.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    assert spec_of({**DEFAULT_ANSWERS, "name": "my-group"}) == "".join(bare)


def test_every_answer_stands_in_the_spec() -> None:
    answers = {
        "name": "nightly",
        "family": "haiku",
        "system": "Add: then answer.",
        "environment": "nodus/code-v1@1.0.0",
        "tasks": "7",
        "repetitions": "3",
        "runCap": "$0.25",
        "groupCap": "1.5",
        "maxActive": "4",
        "timeout": "1h30m",
        "maxTokens": "300",
        "tools": "bash, submit",
    }
    assert answers.keys() == {question.id for question in QUESTIONS}
    assert not problems(answers)
    agent, group = (each.resource for each in load_specs([SpecSource("form", spec_of(answers).encode())]))
    assert isinstance(agent, Agent)
    assert isinstance(group, AgentGroup)
    assert group.spec.evaluation is not None
    assert (agent.name, agent.spec.system, agent.spec.tools) == ("nightly-agent", "Add: then answer.", ("bash", "submit"))
    assert (agent.spec.model.families, agent.spec.model.max_tokens) == (("haiku",), 300)
    assert agent.spec.per_run_max_cost_usd == Decimal("0.25")
    assert (group.name, group.spec.agent, group.spec.max_active, group.spec.max_cost_usd) == ("nightly", "nightly-agent", 4, Decimal("1.5"))
    evaluation = group.spec.evaluation
    assert (evaluation.environment, evaluation.tasks, evaluation.repetitions) == ("nodus/code-v1@1.0.0", 7, 3)
    assert evaluation.timeout == timedelta(minutes=90)
