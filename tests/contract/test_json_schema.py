"""The JSON Schemas: valid by their dialect, and at one with the loader on what is right and on simple faults."""

import pytest
import yaml
from contract_examples import EXAMPLES, changed, faults_of
from jsonschema import Draft202012Validator

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.registry import KINDS
from nodus_tui.contract.schema import SCHEMA_NAMES, json_schema
from nodus_tui.contract.spec_loading.dump import dump_yaml
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs


def accepts(kind: str, text: str) -> bool:
    return Draft202012Validator(json_schema(kind)).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_schema_is_a_schema(name):
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f":{name}")
    assert schema["title"] == name
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_mapping_with_fixed_fields_is_closed_and_described(name):
    schema = json_schema(name)
    for label, part in [(name, schema), *schema["$defs"].items()]:
        if "properties" in part:
            assert part["additionalProperties"] is False, label
            assert part["description"], label
            assert not any("_" in field for field in part["properties"]), label


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_default_is_valid_where_it_stands(name):
    schema = json_schema(name)
    parts = {"": schema, **schema["$defs"]}
    for label, part in parts.items():
        for field, definition in part.get("properties", {}).items():
            if "default" in definition:
                whole = {"$defs": schema["$defs"], **definition}
                assert Draft202012Validator(whole).is_valid(definition["default"]), f"{label}.{field}: {definition['default']}"


def test_sentences_under_fields_are_in_the_schema():
    schema = json_schema("AgentGroup")
    assert schema["$defs"]["AgentGroupSpec"]["properties"]["maxActive"]["description"] == "Runs going at once, at most."
    assert "AgentGroupStatus" not in schema["$defs"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_loads_is_valid(kind):
    text = EXAMPLES[kind]
    assert faults_of(text) == ()
    assert accepts(kind, text)
    (document,) = load_specs([SpecSource("a.yaml", text.encode())])
    assert accepts(kind, dump_yaml([document.resource]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("apiVersion: nodus.dev/", "apiVersion: other.dev/"),
        ("kind: ", "kynd: "),
        ("metadata:", "metadata: 5\nother:"),
        ("spec:", "spec: {}\nother:"),
    ],
)
def test_faults_of_every_kind_are_refused_by_both(kind, old, new):
    text = EXAMPLES[kind].replace(old, new, 1)
    assert faults_of(text)
    assert not accepts(kind, text)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("AgentGroup", "maxActive: 10", "maxActive: 1001"),
        ("AgentGroup", "maxActive: 10", "maxActive: 0"),
        ("AgentGroup", "maxActive: 10", 'maxActive: "10"'),
        ("AgentGroup", "maxActive", "max_active"),
        ("AgentGroup", "tasks: 50", "tasks: 101"),
        ("AgentGroup", '"10.00"', "10.00"),
        ("AgentGroup", '"10.00"', '"0.00"'),
        ("AgentGroup", '"10.00"', '"0.0000000001"'),
        ("AgentGroup", '"10.00"', '"ten"'),
        ("AgentGroup", "10m", "10 min"),
        ("AgentGroup", "10m", "600"),
        ("AgentGroup", "10m", '""'),
        ("AgentGroup", "split: test", "split: dev"),
        ("AgentGroup", "nodus/arithmetic-v2@2.0.0", "arithmetic"),
        ("AgentGroup", "    tasks: 50\n", ""),
        ("Agent", "name: worker", "name: The Worker"),
        ("Agent", "team: nlp", "team: 5"),
        ("Agent", "[haiku]", "[]"),
        ("Environment", "numeric", "nummeric"),
        ("Environment", "tolerance: 0.5", "ignoreCase: true"),
        ("Environment", "1.0.0", "1 0"),
        ("Job", 'WORKERS: "4"', "WORKERS: 4"),
        ("Sweep", "repetitions: 2", "repetitions: 65"),
        ("TrainingJob", "limit: 200", "limit: 0"),
        ("TrainingJob", "{family: sums, level: 2}", "{family: [sums]}"),
        ("TrainingJob", "hf://organisation/name@0123abc", "organisation/name"),
        ("Budget", "Monthly", "Weekly"),
    ],
)
def test_simple_faults_are_refused_by_both(kind, old, new):
    text = changed(EXAMPLES[kind], old, new)
    assert faults_of(text)
    assert not accepts(kind, text)


def test_the_configuration_file():
    text = "models:\n- {family: haiku, provider: openai, name: x, price: {inputPerMTok: 0.8, outputPerMTok: '4'}}\nrates: {L4: 0.43}\n"
    assert accepts("Configuration", text)
    assert accepts("Configuration", "models: [{family: a, provider: simulated, name: x, price: free}]")
    assert not accepts("Configuration", text.replace("openai", "other"))
    assert not accepts("Configuration", text.replace("rates", "rate"))


def test_an_unknown_name_is_told_with_the_nearest_one():
    with pytest.raises(NodusError, match='there is no schema "agentgroup"; did you mean "AgentGroup"') as caught:
        json_schema("agentgroup")
    assert caught.value.code is ErrorCode.NOT_FOUND
