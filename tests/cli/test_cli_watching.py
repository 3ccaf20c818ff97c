"""`watch`: how things stand and what changes, of a real workspace; and that every view of the console has its text."""

import asyncio
import json
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from cli_workspace import Workspace
from click.testing import Result
from pydantic import JsonValue
from ways import spec, workspace

from nodus_tui.cli.change_lines import ChangeLines, standing
from nodus_tui.cli.exits import Exit
from nodus_tui.cli.main import VERBS, cli
from nodus_tui.cli.watching import Wanted, watch
from nodus_tui.contract.actions import Kill
from nodus_tui.contract.events import Event
from nodus_tui.view_state.text_equivalents import TEXT_EQUIVALENTS
from nodus_tui.view_state.views import View

Nodus = Callable[..., Result]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
DOCS = Path(__file__).parents[2] / "docs"


class Reader:
    """Reads lines, up to a number of them."""

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.words: list[str] = []
        self.documents: list[dict[str, JsonValue]] = []

    def __call__(self, _at: datetime, document: dict[str, JsonValue], words: str) -> bool:
        self.words += [words] if words else []
        self.documents.append(document)
        return len(self.documents) < self.most


async def test_a_group_is_told_with_its_runs_until_it_has_ended(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(spec(tasks=3))
        reader = Reader()
        code = await watch(backend, Wanted("AgentGroup", "hello"), reader, once=False, until_done=True)
        assert code is Exit.DONE
        assert any(words.startswith("AgentGroup hello: Completed") for words in reader.words)
        assert sum("Succeeded, Correct" in words for words in reader.words) == 3
        assert {document["kind"] for document in reader.documents} == {"AgentGroup", "AgentRun"}
        again = Reader()
        assert await watch(backend, Wanted("AgentRun", "hello-c001"), again, once=False, until_done=True) is Exit.DONE
        assert again.words == ["AgentRun hello-c001: Succeeded, Correct"]


async def test_the_end_of_a_killed_group_is_no_success_and_other_groups_are_not_told(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(spec(family="slow", tasks=2))
        reader = Reader()
        watching = asyncio.create_task(watch(backend, Wanted("AgentGroup", "hello"), reader, once=False, until_done=True))
        await backend.apply(spec("other", tasks=1))
        await backend.act(Kill(kind="AgentGroup", name="hello"))
        assert await watching is Exit.GATE
        assert not any("other" in words for words in reader.words)


async def test_without_a_target_all_but_runs_is_told_and_who_has_gone_is_not_told_on(tmp_path: Path) -> None:
    async with workspace(tmp_path) as backend:
        await backend.apply(spec(tasks=2))
        reader = Reader(most=3)
        assert await watch(backend, Wanted(), reader, once=False, until_done=False) is Exit.DONE
        assert len(reader.documents) == 3
        assert {document["kind"] for document in reader.documents} == {"AgentGroup"}


def test_once_says_how_things_stand_as_text_and_as_json(nodus: Nodus, workspace: Workspace) -> None:
    assert "nothing of that is there yet" in nodus("watch", "--once").stderr
    assert nodus("run", "-f", workspace.spec(tasks=2, family="perfect")).exit_code == 0
    told = nodus("watch", "--once")
    assert told.exit_code == 0
    assert told.stdout.endswith("AgentGroup hello: Completed, 100.0% [34.2, 100.0] (SE 0.0), 2/2 scored, $0.00027 spent\n")
    lines = [json.loads(line) for line in nodus("watch", "group/hello", "--once", "-o", "json").stdout.splitlines()]
    assert [(each["change"], each["kind"], each["name"]) for each in lines] == [
        ("Present", "AgentGroup", "hello"),
        ("Present", "AgentRun", "hello-c001"),
        ("Present", "AgentRun", "hello-c002"),
    ]
    assert lines[1]["status"]["verdict"] == "Correct"
    assert nodus("watch", "runs", "--once").stdout.count("Succeeded, Correct") == 2
    assert nodus("watch", "hello", "--until-done").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agents",), "nothing is told of agents as it changes"),
        (("group/never",), "never"),
        (("never",), "never"),
        (("--until-done",), "--until-done needs the name"),
        (("groups", "--until-done"), "--until-done needs the name"),
    ],
)
def test_what_cannot_be_watched_is_said(nodus: Nodus, arguments: tuple[str, ...], words: str) -> None:
    told = nodus("watch", *arguments)
    assert told.exit_code == Exit.USAGE
    assert words in told.stderr


def changed(**status: JsonValue) -> Event:
    return Event(cursor=1, at=NOW, change="Changed", kind="AgentGroup", name="night", status=status)


def test_figures_that_count_on_are_told_in_tenths() -> None:
    lines = ChangeLines()
    told = [words for scored in range(101) for words in lines.of(changed(coverage={"scored": scored, "total": 100}, passRate=0.5))]
    assert len(told) == 10
    assert told[-1] == "AgentGroup night: 50.0% (no SE with one task), 100/100 scored"
    lines.known("AgentGroup", "night", {"coverage": {"scored": 5, "total": 100}, "standardError": 0.05, "ci95": [0.4, 0.6]})
    rated = changed(coverage={"scored": 20, "total": 100}, passRate=0.5)
    assert list(lines.of(rated)) == ["AgentGroup night: 50.0% ± 10.0 (SE 5.0), 20/100 scored"], "an event has what changed alone"
    assert list(lines.of(changed(phase="Running"))) == ["AgentGroup night: Running"]
    assert list(lines.of(changed(phase="Running"))) == []
    budget: dict[str, JsonValue] = {
        "blocking": True,
        "message": "the limit is reached",
        "spentUSD": "4.069905509",
        "leftUSD": "0.030094491",
    }
    assert standing("Budget", "b", budget) == "Budget b: blocks new work, the limit is reached, $4.07 spent, $0.03 left"


def test_tasks_are_listed_as_agents_see_them(nodus: Nodus) -> None:
    told = nodus("environment", "tasks", "nodus/arithmetic-v2", "--limit", "2")
    assert told.exit_code == 0
    assert told.stdout.count("\n\n") == 1
    assert "--after 2 shows more" in told.stderr
    page = json.loads(nodus("environment", "tasks", "nodus/arithmetic-v2@2.0.0", "--after", "1", "--limit", "1", "-o", "json").stdout)
    assert page["tasks"][0]["id"] in told.stdout
    assert "answer" not in page["tasks"][0]


@pytest.mark.parametrize("view", View, ids=lambda view: view.value)
def test_every_view_has_its_text_which_exists_and_is_documented(view: View) -> None:
    """A new view says in view_state/text_equivalents.py which command shows the same."""
    documented = (DOCS / "console.md").read_text(encoding="utf-8")
    assert TEXT_EQUIVALENTS[view]
    for command in TEXT_EQUIVALENTS[view]:
        verb, *rest = shlex.split(command)
        assert verb in VERBS
        found = cli.get_command(click.Context(cli), verb)
        if isinstance(found, click.Group):
            found = found.get_command(click.Context(found), rest.pop(0))
        assert found is not None
        options = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= options, command
        assert f"`{command}`" in documented


@pytest.mark.parametrize(("arguments", "words"), [(("--at", "nowhere"), "--at takes a view"), (("--at", "job/x"), "--at takes a view")])
def test_where_the_console_begins_must_be_a_view(nodus: Nodus, arguments: tuple[str, ...], words: str) -> None:
    told = nodus(*arguments)
    assert told.exit_code == Exit.USAGE
    assert words in told.stderr
    assert "belongs to the console" in nodus(*arguments, "get", "groups").stderr
