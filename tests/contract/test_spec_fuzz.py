"""The loader under arbitrary input: a bundle or a NodusError with sound faults, never anything else."""

import io
import json

import pytest
import yaml
from contract_examples import EXAMPLES, refusal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.spec_loading.files import read_sources
from nodus_tui.contract.spec_loading.loader import SpecSource, bundle_from_documents, load_configuration, load_specs
from nodus_tui.contract.spec_loading.yaml_reader import read_documents

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SPECS = "---\n".join(EXAMPLES.values())
PIECES = st.sampled_from(
    [
        *("a", "spec", "metadata", "name", "kind", "apiVersion", "grader", "type", "numeric", "tasks", "maxCostUSD", "nodus.dev/v1"),
        *(": ", ":", "- ", "? ", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ", ", "'", '"', "\\", "|\n", ">-\n", "#", " #", "\t", "\r\n"),
        *(
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "%TAG ! x\n",
            "&a ",
            "*a",
            "!t ",
            "!!int ",
            "<<",
            "~",
            "null",
            "true",
            "1",
            "0.10",
            "1e9",
            "010",
        ),
        *("\0", "\x1b", "\ufeff", "\u2028", "\x85", "é", "𝕏", '"\\ud800"', '"\\U00110000"', '"\\x"', "@", "`", "=", "1:30", "9" * 120),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(max_size=20),
    st.binary(max_size=3),
    st.sampled_from(["0", "10m", "Agent", "a@1", "\ud800"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4),
    max_leaves=12,
)


def outcome(data: bytes) -> tuple[int, int]:
    """How many resources and how many faults the loader makes of a file; the faults must lie in it."""
    lines = data.decode("utf-8", "replace").count("\n") + data.decode("utf-8", "replace").count("\r") + 1
    loaded: list[object] = []
    error = refusal(lambda: loaded.extend(load_specs([SpecSource("f.yaml", data)])))
    if error is None:
        return len(loaded), 0
    assert error.code is ErrorCode.INVALID_SPEC
    assert error.faults
    for fault in error.faults:
        assert fault.sentence().isprintable()
        assert fault.message
        assert 0 <= fault.line <= lines
        assert fault.column >= 0
    return 0, len(error.faults)


@SETTINGS
@given(st.binary(max_size=300))
def test_arbitrary_bytes(data):
    assert outcome(data) != (0, 0)


@SETTINGS
@given(st.text(max_size=200))
def test_arbitrary_text(text):
    assert outcome(text.encode("utf-8", "surrogatepass")) != (0, 0)


@SETTINGS
@given(st.lists(PIECES, max_size=40).map("".join))
def test_text_like_yaml(text):
    assert outcome(text.encode()) != (0, 0)


@SETTINGS
@given(
    st.lists(st.tuples(st.integers(0, len(SPECS)), st.integers(0, 12), st.lists(PIECES, max_size=3).map("".join)), min_size=1, max_size=4)
)
def test_valid_specs_with_pieces_cut_out_and_put_in(changes):
    text = SPECS
    for start, length, piece in changes:
        text = text[:start] + piece + text[start + length :]
    assert outcome(text.encode()) != (0, 0)


@SETTINGS
@given(st.sampled_from(list(EXAMPLES)), st.data(), VALUES)
def test_valid_documents_with_one_value_replaced(kind, data, value):
    document = yaml.safe_load(EXAMPLES[kind])
    node = document
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        child = node[key]
        if not (isinstance(child, dict | list) and child and data.draw(st.booleans())):
            break
        node = child
    node[key] = value
    loaded: list[object] = []
    error = refusal(lambda: loaded.extend(bundle_from_documents([document])))
    if error is None:
        assert len(loaded) == 1
    else:
        assert error.faults
        assert all(fault.sentence().isprintable() and (fault.line, fault.column) == (0, 0) for fault in error.faults)


@SETTINGS
@given(st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=3))
def test_arbitrary_documents_of_a_program(documents):
    if documents:
        with pytest.raises(NodusError):
            bundle_from_documents(documents)
    else:
        assert bundle_from_documents(documents).documents == ()


@SETTINGS
@given(st.lists(PIECES, max_size=30).map("".join))
def test_configuration_like_text(text):
    error = refusal(lambda: load_configuration("config.yaml", text.encode()))
    if error is not None:
        assert error.code is ErrorCode.CONFIGURATION
        assert error.faults


@SETTINGS
@given(st.lists(st.text(max_size=12), max_size=4))
def test_arbitrary_paths(paths):
    sources = read_sources([f"no-such-folder/{path}" for path in paths], io.BytesIO())
    assert all(source.problem for source in sources)


PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Cn"], exclude_characters="\ufeff"), max_size=12)
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    PRINTABLE | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PRINTABLE, inner, max_size=4),
    max_leaves=20,
)


def as_read(value: object) -> object:
    """A JSON value as the reader gives it: tuples for lists."""
    if isinstance(value, dict):
        return {key: as_read(part) for key, part in value.items()}
    return tuple(as_read(part) for part in value) if isinstance(value, list) else value


@SETTINGS
@given(st.dictionaries(PRINTABLE, JSON, min_size=1, max_size=4), st.sampled_from([None, 2]))
def test_json_is_read_as_what_it_says_with_the_place_of_every_value(value, indent):
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    read = read_documents(text.encode(), "f.json")
    assert read.faults == ()
    (document,) = read.documents
    assert document.value == as_read(value)
    lines = text.split("\n")
    for path, place in document.positions.items():
        part = value
        for step in path:
            part = part[step]
        opening = json.dumps(part, ensure_ascii=False)[0]
        assert lines[place.line - 1][place.column - 1] == opening
