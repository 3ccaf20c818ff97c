"""What can be read of specs with faults: the same faults as loading them, and documents that a dry run can check further."""

import pytest
from contract_examples import AGENT, ENVIRONMENT, EXAMPLES, GROUP, SWEEP, changed, faults_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_spec_fuzz import PIECES, SPECS

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.spec_loading.bundle import LoadedDocument, SpecBundle
from nodus_tui.contract.spec_loading.loader import ReadSpecs, SpecSource, load_specs, read_specs


def read(*texts: str | bytes) -> ReadSpecs:
    sources = [SpecSource(f"{number}.yaml", text.encode() if isinstance(text, str) else text) for number, text in enumerate(texts)]
    return read_specs(sources)


def mended(text: str) -> LoadedDocument:
    made = read(text)
    assert made.faults
    assert made.bundle.checking_only
    (document,) = made.bundle
    return document


def test_without_a_fault_it_is_what_loading_gives():
    made = read(*EXAMPLES.values())
    assert made.faults == ()
    assert made.bundle == load_specs([SpecSource(f"{number}.yaml", text.encode()) for number, text in enumerate(EXAMPLES.values())])
    made.bundle.refuse_mended()


def test_a_bundle_with_stand_ins_says_that_it_is_for_checking_only():
    made = read(changed(GROUP, "maxActive: 10", "maxActive: 0"))
    with pytest.raises(NodusError, match="for checking only; nothing was changed"):
        made.bundle.refuse_mended()


def test_what_is_right_in_a_faulty_document_stays():
    document = mended(changed(changed(GROUP, "maxActive: 10", "maxActive: 0"), '"10.00"', '"ten"'))
    assert isinstance(document.resource, AgentGroup)
    good = load_specs([SpecSource("0.yaml", GROUP.encode())]).documents[0].resource
    assert isinstance(good, AgentGroup)
    assert document.resource.spec.evaluation == good.spec.evaluation
    assert document.resource.spec.agent == "worker"
    assert document.stand_ins == {("spec", "maxActive"), ("spec", "maxCostUSD")}
    assert document.in_doubt("spec")
    assert document.in_doubt("spec", "maxActive")
    assert not document.in_doubt("spec", "evaluation", "environment")


REFERENCES = ("metadata.name", "spec.agent", "spec.evaluation.environment", "spec.evaluation.split", "spec.model.families", "spec.version")
"""What a workspace is asked about."""
OF_EVALUATION = ["spec.evaluation.environment", "spec.evaluation.split"]


@pytest.mark.parametrize(
    ("text", "old", "new", "doubtful"),
    [
        (GROUP, "tasks: 50", "tasks: many", []),
        (GROUP, "    tasks: 50\n", "", []),
        (GROUP, "maxActive: 10", "surprise: 10", []),
        (GROUP, "split: test", "split: dev", ["spec.evaluation.split"]),
        (GROUP, "split: test", "splt: train", ["spec.evaluation.split"]),
        (GROUP, "    split: test\n", "    split: test\n    split: train\n", ["spec.evaluation.split"]),
        (GROUP, "split: test", "split: !x test", ["spec.evaluation.split"]),
        (GROUP, "split: test", "<<: {split: train}", ["spec.evaluation.split"]),
        (GROUP, "  maxActive: 10\n", "  split: train\n", []),
        (GROUP.replace("    split: test\n", ""), "  maxActive: 10\n", "  split: train\n", ["spec.evaluation.split"]),
        (GROUP, "nodus/arithmetic-v2@2.0.0", "arithmetic", ["spec.evaluation.environment"]),
        (GROUP, "environment:", "enviroment:", ["spec.evaluation.environment"]),
        (GROUP, GROUP[GROUP.index("  evaluation:") :], "  evaluation: 5\n", OF_EVALUATION),
        (GROUP, GROUP[GROUP.index("  evaluation:") :], "", []),
        (GROUP, GROUP[GROUP.index("spec:") :], "", ["spec.agent", *OF_EVALUATION, "spec.model.families", "spec.version"]),
        (GROUP, "agent: worker", "agent: A Worker", ["spec.agent"]),
        (GROUP, "  name: sums\n", "", ["metadata.name"]),
        (GROUP, "metadata:\n  name: sums\n", "", ["metadata.name"]),
        (AGENT, "name: worker", "name: A Worker", ["metadata.name"]),
        (AGENT, "[haiku]", "[haiku, 5]", ["spec.model.families"]),
        (AGENT, "[haiku]", "[]", ["spec.model.families"]),
        (AGENT, "families", "family", ["spec.model.families"]),
        (AGENT, "{team: nlp}", "{team: 1.10}", []),
        (ENVIRONMENT, "numeric", "nummeric", []),
        (ENVIRONMENT, "1.0.0", "1.0", ["spec.version"]),
    ],
)
def test_what_does_not_stand_there_is_in_doubt_and_nothing_else(text, old, new, doubtful):
    document = mended(changed(text, old, new))
    assert [each for each in REFERENCES if document.in_doubt(*each.split("."))] == doubtful


def test_a_grader_of_another_type_stands_in_for_one_without_a_known_type():
    document = mended(changed(ENVIRONMENT, "numeric", "nummeric"))
    assert document.stand_ins == {("spec", "grader")}


def test_a_kind_that_is_nearly_right_is_taken_for_the_one_that_is_meant():
    document = mended(changed(AGENT, "kind: Agent", "kind: agent"))
    assert isinstance(document.resource, Agent)
    assert document.stand_ins == frozenset()


def test_every_required_field_of_every_kind_can_be_missing_and_is_in_doubt():
    for kind, text in EXAMPLES.items():
        version = text.partition("\n")[0]
        document = mended(f"{version}\nkind: {kind}\n")
        assert type(document.resource) is KINDS[kind]
        assert document.in_doubt("metadata", "name")
        assert document.in_doubt("spec", "anything")


@pytest.mark.parametrize(("old", "new"), [("agents: [worker, thinker]", "parameters: {a: [1]}"), ("shards: 2", "shards: 1000")])
def test_rules_over_several_fields_can_be_mended(old, new):
    assert mended(changed(SWEEP, old, new)).in_doubt("spec")


def unread(*texts: str | bytes) -> frozenset[tuple[str, str]]:
    return read(*texts).bundle.unread


def test_what_cannot_be_read_is_known_as_far_as_it_can_be():
    assert unread("a: [\n") == {("", "")}
    assert unread(AGENT + "  model: [\n") == {("Agent", "worker")}
    assert unread(changed(AGENT, "worker", "The Worker")) == {("Agent", "")}
    assert unread("kind: agent\nmetadata: {name: a}\n\tspec: {}\n") == {("Agent", "a")}
    assert unread("!x {kind: Agent, metadata: {name: a}}\n") == {("Agent", "a")}
    assert unread("- a list\n") == {("", "")}
    assert unread(changed(AGENT, "kind: Agent", "kind: 5")) == {("", "worker")}
    assert unread(AGENT, b"\xff") == {("", "")}
    assert unread(AGENT, "") == frozenset()
    assert unread(AGENT, AGENT) == {("Agent", "worker")}
    assert unread(changed(GROUP, "maxActive: 10", "maxActive: 0"), AGENT) == frozenset()
    problem = read_specs([SpecSource("gone.yaml", problem="there is no such file"), SpecSource("agent.yaml", AGENT.encode())])
    assert problem.bundle.unread == {("", "")}
    assert [document.resource.name for document in problem.bundle] == ["worker"]


def test_a_bundle_knows_what_it_may_lack():
    bundle = SpecBundle((), checking_only=True, unread=frozenset({("Agent", "a"), ("Environment", "")}))
    assert bundle.may_lack("Agent", "a")
    assert not bundle.may_lack("Agent", "b")
    assert bundle.may_lack("Environment", "b")
    assert not bundle.has_gaps
    assert SpecBundle((), checking_only=True, unread=frozenset({("", "")})).has_gaps


def test_a_document_that_is_nothing_but_faults_is_left():
    text = GROUP[: GROUP.index("  evaluation:")] + "  inputs:\n" + "".join(f"  - {{id: {number}}}\n" for number in range(1000))
    made = read(text)
    assert made.bundle.documents == ()
    assert made.bundle.unread == {("AgentGroup", "sums")}


def same_faults(*texts: str | bytes) -> None:
    made = read(*texts)
    expected = faults_of(*texts)
    assert (made.refusal().faults if made.faults else ()) == expected
    assert made.bundle.checking_only == bool(expected)
    for document in made.bundle:
        again = type(document.resource).model_validate(document.resource.to_document())
        assert again == document.resource
        assert expected or not document.stand_ins


SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CUTS = st.tuples(st.integers(0, len(SPECS)), st.integers(0, 12), st.lists(PIECES, max_size=3).map("".join))


@SETTINGS
@given(st.lists(CUTS, min_size=1, max_size=8))
def test_valid_specs_with_pieces_cut_out_and_put_in(changes):
    text = SPECS
    for start, length, piece in changes:
        text = text[:start] + piece + text[start + length :]
    same_faults(text)


SCALARS = [
    "0",
    "-1",
    "101",
    "1e9",
    "true",
    "",
    "null",
    "59s",
    "25h",
    '"0.00"',
    '"x y"',
    "[]",
    "[1]",
    "{}",
    "{a: 1}",
    "a@1",
    "!t 1",
    "*a",
    "dev",
]


@SETTINGS
@given(st.sampled_from(list(EXAMPLES)), st.data())
def test_valid_documents_with_lines_lost_doubled_renamed_and_revalued(kind, data):
    lines = EXAMPLES[kind].splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(lines) - 1))
        key, colon, _ = lines[number].partition(":")
        lines[number : number + 1] = data.draw(
            st.sampled_from(
                [[], [lines[number]] * 2, [f"{key}x{colon} 1"], *([f"{key}{colon} {value}"] for value in SCALARS)],
            )
        )
        if not lines:
            break
    same_faults("\n".join(lines), EXAMPLES[kind])


@SETTINGS
@given(st.lists(st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=40), max_size=3))
def test_arbitrary_files(texts):
    same_faults(*texts)
