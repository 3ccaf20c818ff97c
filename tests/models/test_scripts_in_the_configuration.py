"""Scripts of simulated models in the configuration file: read exactly, and faults told where they stand."""

import pytest
import yaml
from jsonschema import Draft202012Validator

from nodus_tui.contract.configuration import ScriptedCall, ScriptedTurn, SimulatedBehaviour
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.schema import json_schema
from nodus_tui.contract.spec_loading.loader import load_configuration

GOOD = """\
models:
  - family: pretend
    provider: simulated
    name: pretend-1
    simulated:
      toolCalls: 3
      script:
        - {text: I look., tools: [{name: bash, arguments: {command: ls, timeoutSeconds: 1.5, more: [1, null, {on: on}]}}]}
        - tools: [{name: write, arguments: "no JSON"}, {name: submit}]
      scripts:
        "repair/1#x": [{text: "4"}]
        empty: []
"""


def behaviour(text: str) -> SimulatedBehaviour:
    found = load_configuration("config.yaml", text.encode()).models[0].simulated
    assert found is not None
    return found


def test_scripts_are_read() -> None:
    simulated = behaviour(GOOD)
    assert simulated.tool_calls == 3
    arguments = {"command": "ls", "timeoutSeconds": 1.5, "more": [1, None, {"on": "on"}]}
    assert simulated.script == (
        ScriptedTurn(text="I look.", tools=(ScriptedCall(name="bash", arguments=arguments),)),
        ScriptedTurn(tools=(ScriptedCall(name="write", arguments="no JSON"), ScriptedCall(name="submit"))),
    )
    assert simulated.scripts == {"repair/1#x": (ScriptedTurn(text="4"),), "empty": ()}
    assert SimulatedBehaviour.model_validate(simulated.to_document()) == simulated
    assert SimulatedBehaviour().tool_calls == 2


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ('{text: "4"}', '{text: " "}', "scripts.repair/1#x[0]", "a turn of a script needs `text`, `tools` or both"),
        ('{text: "4"}', '{txt: "4"}', "scripts.repair/1#x[0].txt", 'no field "txt"'),
        ("toolCalls: 3", "toolCalls: 51", "toolCalls", "toolCalls is 51; it must be 0 to 50"),
        ('arguments: "no JSON"', "arguments: [a]", "script[1].tools[0].arguments", "it must be a mapping of fields or text"),
        ("{name: submit}", "{arguments: {}}", "script[1].tools[1].name", "name is missing"),
        ("{name: submit}", '{name: ""}', "script[1].tools[1].name", "name is empty"),
        ("empty: []", "empty: 5", "scripts.empty", "empty is 5; it must be a list"),
    ],
)
def test_faults(old: str, new: str, path: str, message: str) -> None:
    text = GOOD.replace(old, new)
    with pytest.raises(NodusError) as caught:
        behaviour(text)
    (fault,) = (each for each in caught.value.faults if message in each.message)
    assert fault.path == f"models[0].simulated.{path}"
    schema = Draft202012Validator(json_schema("Configuration"))
    assert schema.is_valid(yaml.safe_load(GOOD))
    assert new == '{text: " "}' or not schema.is_valid(yaml.safe_load(text))
