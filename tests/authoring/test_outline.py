"""Which field stands under the cursor, in texts that are no valid YAML yet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.authoring.outline import Outline, Place

TEXT = """\
# first
apiVersion: nodus.dev/v1
kind: Agent
metadata: {name: solver, labels: {team: a}}
spec:
  system: |
    You are: careful
  model:
    families: [simulated, qu]
  tools:
  - bash
  - re
  sandbox:
    env:
      - name: A
---
kind: AgentGroup
metadata:
  name: sums
spec:
  evaluation:
    tasks: 2
"""
LINES = [*TEXT.split("\n")[:-1], " " * 4]


def place(row: int, column: int | None = None) -> Place:
    return Outline(LINES).place(row, len(LINES[row]) if column is None else column)


@pytest.mark.parametrize(
    ("row", "column", "path", "slot", "prefix"),
    [
        (2, None, ("kind",), "value", "Agent"),
        (2, 2, (), "name", "ki"),
        (3, 17, ("metadata", "name"), "value", ""),
        (3, 27, ("metadata",), "name", "la"),
        (3, 40, ("metadata", "labels", "team"), "value", ""),
        (8, 28, ("spec", "model", "families", 1), "value", "qu"),
        (11, None, ("spec", "tools", 1), "name", "re"),
        (14, 9, ("spec", "sandbox", "env", 0), "name", "n"),
        (14, None, ("spec", "sandbox", "env", 0, "name"), "value", "A"),
        (22, None, ("spec", "evaluation"), "name", ""),
        (22, 2, ("spec",), "name", ""),
    ],
)
def test_the_path_of_what_is_typed(row: int, column: int | None, path: tuple[object, ...], slot: str, prefix: str) -> None:
    found = place(row, column)
    assert (found.path, found.slot, found.prefix) == (path, slot, prefix)


@pytest.mark.parametrize("row", [0, 6])
def test_nothing_is_typed_in_comments_and_blocks_of_text(row: int) -> None:
    assert place(row).slot == "none"


def test_documents_their_kinds_and_names() -> None:
    outline = Outline(LINES)
    assert [outline.kind(index) for index in range(len(outline.starts))] == ["Agent", "AgentGroup"]
    assert outline.names("Agent") == ("solver",)
    assert outline.names("AgentGroup") == ("sums",)
    assert outline.document_at(21) == 1
    assert outline.siblings(1, ("spec",)) == {"evaluation"}


@given(st.lists(st.text(alphabet="ab:-#{}[]|,'\" "), max_size=8), st.integers(0, 8), st.integers(0, 20))
def test_no_text_makes_it_fail(lines: list[str], row: int, column: int) -> None:
    found = Outline(lines).place(row, column)
    assert found.slot in {"name", "value", "none"}
