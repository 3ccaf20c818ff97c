"""Fields and values are proposed from the schemas, names from the workspace and the text itself."""

import pytest

from nodus_tui.authoring.completion import Names, help_at, proposals
from nodus_tui.authoring.fields import KINDS_TO_WRITE, field_at, fields_at, values_at
from nodus_tui.authoring.outline import Outline
from nodus_tui.authoring.templates import TEMPLATES, with_template
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

NAMES = Names(agents=("adder",), environments=("nodus/arithmetic-v2@2.0.0",), models=("haiku", "quick"))


def words(text: str, row: int | None = None) -> list[str]:
    """What is proposed at the end of a line, the last one unless said."""
    lines = text.split("\n")
    outline = Outline(lines)
    at = len(lines) - 1 if row is None else row
    return [each.word for each in proposals(outline, outline.place(at, len(lines[at])), NAMES)]


GROUP = "apiVersion: nodus.dev/v1\nkind: AgentGroup\nmetadata: {name: a}\nspec:\n"


def test_fields_that_are_there_already_are_not_proposed_and_needed_ones_come_first() -> None:
    assert words(f"{GROUP}  agent: x\n  ")[0] == "maxCostUSD"
    assert "agent" not in words(f"{GROUP}  agent: x\n  ")


def test_what_is_typed_narrows() -> None:
    assert words(f"{GROUP}  max") == ["maxCostUSD", "maxActive"]


def test_values_of_a_choice() -> None:
    assert words(f"{GROUP}  evaluation:\n    split: ") == ["train", "test"]


def test_names_of_the_workspace_and_of_the_text() -> None:
    text = "kind: Agent\nmetadata: {name: mine}\n---\nkind: AgentGroup\nspec:\n  agent: "
    assert words(text) == ["mine", "adder"]
    assert words(f"{GROUP}  evaluation:\n    environment: ari") == ["nodus/arithmetic-v2@2.0.0"]
    assert words("kind: Agent\nspec:\n  model: {families: [ha") == ["haiku"]


def test_a_field_of_a_list_or_a_mapping_begins_it() -> None:
    lines = ["kind: Agent", "spec:", "  mod"]
    outline = Outline(lines)
    assert proposals(outline, outline.place(2, 5))[0].insert == "model:\n    "


def test_money_gets_its_quotes() -> None:
    lines = (GROUP + "  maxCostUSD: ").split("\n")
    outline = Outline(lines)
    assert all(each.insert.startswith('"') for each in proposals(outline, outline.place(4, len(lines[4]))))


def test_a_document_without_a_kind_is_asked_for_one() -> None:
    assert words("") == ["apiVersion", "kind", "metadata", "spec"]
    assert "AgentRun" not in words("kind: ")
    assert "AgentGroup" in words("kind: ")


def test_help_of_the_field_under_the_cursor() -> None:
    path, field = help_at(Outline((GROUP + "  maxActive: 3").split("\n")), 4, 5)
    assert path == "spec.maxActive"
    assert field is not None
    assert field.help == "Runs going at once, at most."
    assert field.form == "whole number 1 to 1000, 10 unless said"


@pytest.mark.parametrize(
    ("at", "path"),
    [
        ("mo|del: {families: [pretend], maxTokens: 256}", "spec.model"),
        ("model: {|families: [pretend], maxTokens: 256}", "spec.model.families"),
        ("model: {fam|ilies: [pretend], maxTokens: 256}", "spec.model.families"),
        ("model: {families: [pre|tend], maxTokens: 256}", "spec.model.families[0]"),
        ("model: {families: [pretend], max|Tokens: 256}", "spec.model.maxTokens"),
        ("model: {families: [pretend], maxTokens: 2|56}", "spec.model.maxTokens"),
        ("model: {families: [pretend]}|", "spec.model"),
        ('model: {"fam|ilies": [pretend]}', "spec.model.families"),
        ("to|ols: [bash, read]", "spec.tools"),
        ("tools: [bash, re|ad]", "spec.tools[1]"),
    ],
)
def test_help_of_fields_between_brackets(at: str, path: str) -> None:
    text = "kind: Agent\nspec:\n  " + at.replace("|", "")
    told, field = help_at(Outline(text.split("\n")), 2, 2 + at.index("|"))
    assert told == path
    assert field is not None
    assert field.name == path.rpartition(".")[2].partition("[")[0]


@pytest.mark.parametrize("at", ["# mo|del: {families: []}", "model: {families: [x]} # fam|ilies: no"])
def test_a_comment_has_no_help(at: str) -> None:
    assert help_at(Outline(["kind: Agent", "spec:", "  " + at.replace("|", "")]), 2, 2 + at.index("|"))[1] is None


@pytest.mark.parametrize("kind", KINDS_TO_WRITE)
def test_every_kind_has_a_template_that_is_valid(kind: str) -> None:
    bundle = load_specs([SpecSource("template", TEMPLATES[kind].encode())])
    assert [each.resource.kind for each in bundle] == [kind]


@pytest.mark.parametrize("kind", KINDS_TO_WRITE)
def test_every_field_of_every_kind_says_what_it_takes(kind: str) -> None:
    def walk(path: tuple[str | int, ...]) -> None:
        for field in fields_at(kind, path):
            assert field.form, (*path, field.name)
            assert field_at(kind, (*path, field.name)) == field
            values_at(kind, (*path, field.name))
            if len(path) < 4:
                walk((*path, field.name))

    walk(())


def test_a_template_goes_behind_the_document_of_the_cursor() -> None:
    text, row = with_template("kind: Agent\n\n---\nkind: Job\n", 0, "Budget")
    lines = text.split("\n")
    assert lines[:2] == ["kind: Agent", "---"]
    assert lines[row] == "apiVersion: nodus.dev/v1"
    assert lines[-4:] == ["  thresholds: [50, 80, 100]", "---", "kind: Job", ""]
