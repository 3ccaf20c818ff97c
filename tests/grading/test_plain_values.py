"""Values on their way between a grader and a loaded solution: what is plain arrives as it was, what is hostile as nothing."""

import ast
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.grading.inside import child
from local_backend.grading.inside.child import Decoder, MalformedError, encode

HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
PLAIN = st.recursive(
    HASHABLE | st.complex_numbers(allow_nan=False) | st.sets(HASHABLE, max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(HASHABLE, inner, max_size=3),
    max_leaves=10,
)


def keep(value: object) -> list[object]:
    return ["r", 7, type(value).__name__]


def decoded(data: object, seconds: float = 10) -> object:
    return Decoder(time.monotonic() + seconds, lambda number, name: (number, name)).value(data)


@given(PLAIN)
def test_plain_values_arrive_as_they_were(value: Any) -> None:
    arrived = decoded(json.loads(json.dumps(encode(value, keep))))
    assert arrived == value
    assert type(arrived) is type(value)


def test_special_numbers_and_large_ones() -> None:
    arrived = decoded(json.loads(json.dumps(encode([math.inf, -math.inf, math.nan, -(2**9000), bytearray(b"x")], keep))))
    assert isinstance(arrived, list)
    assert arrived[:2] == [math.inf, -math.inf]
    assert math.isnan(arrived[2])
    assert arrived[3:] == [-(2**9000), bytearray(b"x")]


class AlwaysEqual(str):
    __slots__ = ()

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def test_what_only_pretends_to_be_plain_arrives_plain() -> None:
    arrived = decoded(encode(AlwaysEqual("wrong"), keep))
    assert type(arrived) is str
    assert arrived != "right"
    assert decoded(encode(object(), keep)) == (7, "object")


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        ["x", []],
        ["l"],
        ["l", 5],
        ["s", [["l", []]]],
        ["d", [[1]]],
        ["d", [[["l", []], 1]]],
        ["n", "1"],
        ["i", 5],
        ["i", "zz"],
        ["b", "*"],
        ["b", 5],
        ["c", 1, 2],
        ["c", "a", "b"],
        ["r"],
        [["l"], []],
    ],
)
def test_nonsense_is_refused(data: object) -> None:
    with pytest.raises(MalformedError):
        decoded(data)


def test_deep_nesting_is_refused_without_harm() -> None:
    data: object = 1
    for _ in range(100_000):
        data = ["l", [data]]
    with pytest.raises(MalformedError):
        decoded(data)


def test_a_set_of_colliding_numbers_is_given_up_at_the_deadline() -> None:
    modulus = 2**61 - 1
    with pytest.raises(MalformedError):
        decoded(["s", [modulus * n for n in range(1, 200_000)]], seconds=0.05)


def test_what_is_copied_into_sandboxes_is_written_for_old_pythons() -> None:
    for path in sorted(Path(child.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(), feature_version=(3, 8))
        modules = [
            node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        outside = (
            {name.partition(".")[0] for name in modules}
            - set(sys.stdlib_module_names)
            - {"files", "processes", "programs", "solution", "child", ""}
        )
        assert outside <= {"pytest"}, path.name
