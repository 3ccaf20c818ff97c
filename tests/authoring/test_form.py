"""The guided form's answers become a valid spec, or a sentence for each that is wrong."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.authoring.form import DEFAULT_ANSWERS, group_cap, problems, spec_of
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
