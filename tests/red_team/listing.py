"""The attacks by name with what holds each, read from the tests' own source. Run as a program it prints the table of docs/sandboxes.md."""

import ast
from collections.abc import Iterator
from pathlib import Path

FAMILIES = ("files", "processes", "the_kernel", "the_network", "resources", "answers", "verdicts", "the_grader")


def attacks() -> Iterator[tuple[str, str]]:
    """(attack, what holds it). A test's name is an attack, or each key of the table that it is made for."""
    for family in FAMILIES:
        tree = ast.parse(Path(__file__).with_name(f"test_attacks_on_{family}.py").read_text(encoding="utf-8"))
        texts = {
            node.targets[0].id: str(node.value.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        }
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
                yield from _of_table(node.value, texts)
            elif isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test_"):
                held = ast.get_docstring(node) or "The control"
                if not held.startswith("The control"):
                    yield node.name.removeprefix("test_").replace("_", " "), held.splitlines()[0]


def _of_table(table: ast.Dict, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in zip(table.keys, table.values, strict=True):
        first = value.elts[0] if isinstance(value, ast.Tuple) else value.args[0] if isinstance(value, ast.Call) else None
        if isinstance(key, ast.Constant) and first is not None:
            text = texts[first.id] if isinstance(first, ast.Name) else str(ast.literal_eval(first))
            yield str(key.value), text


def table() -> str:
    """In Markdown: what holds, and the attacks that it holds."""
    by_hold: dict[str, list[str]] = {}
    for name, held in attacks():
        sentence = held.rstrip(".")
        by_hold.setdefault(sentence[0].upper() + sentence[1:], []).append(name)
    rows = [f"| {', '.join(names)} | {held} |" for held, names in by_hold.items()]
    return "\n".join(["| attack | what holds it |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table())
