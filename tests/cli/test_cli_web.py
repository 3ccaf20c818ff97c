"""`web` on the command line: what it refuses, and whose key opens what. The page itself is in tests/web."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_workspace import Workspace
from click.testing import Result

import nodus_tui.cli.verbs.web as verb
from nodus_tui.connect import hosting
from nodus_tui.web.access import Visitor


def test_what_cannot_be_served_is_said_before_anything_listens(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    file = workspace.write("x")
    for arguments, sentence in (
        (("--listen", "0.0.0.0:0"), "0.0.0.0 is beyond this machine, and keys would go there in the clear"),
        (("--listen", "[::]:0"), ":: is beyond this machine"),
        (("--listen", "wall.example:0"), "wall.example is beyond this machine"),
        (("--listen", "nonsense"), "is no address"),
        (("--tls-cert", file), "--tls-cert and --tls-key belong together"),
        (("--view", "run"), "there is no view 'run': campaigns, jobs"),
        (("--view", "group/"), "there is no view 'group/'"),
        (("--view", "group/../x"), "there is no view"),
        (("--most", "0"), "not in the range"),
    ):
        result = nodus("web", *arguments)
        assert result.exit_code == 2, arguments
        assert sentence in result.stderr, arguments
    remote = nodus("--connect", "http://127.0.0.1:1", "web", "--operator")
    assert remote.exit_code == 2
    assert "whose tokens say who acts" in remote.stderr


def test_a_certificate_that_is_none_is_said(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    file = workspace.write("x")
    result = nodus("web", "--listen", "127.0.0.1:0", "--tls-cert", file, "--tls-key", file)
    assert result.exit_code == 2
    assert "cannot be used" in result.stderr


def test_without_its_package_it_says_what_to_install(nodus: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "find_spec", lambda name: None)
    result = nodus("web")
    assert result.exit_code == 2
    assert "pip install 'nodus-tui[web]'" in result.stderr


def test_acting_needs_an_operators_token_and_the_word(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    wall = hosting().create_token(workspace.home, "wall", "viewer")
    olga = hosting().create_token(workspace.home, "olga", "operator")
    looking, acting = verb.identifier("printed", operator=False), verb.identifier("printed", operator=True)
    assert looking("printed") == acting("printed") == Visitor("link", "viewer")
    assert looking(wall) == acting(wall) == Visitor("wall", "viewer")
    assert (looking(olga), acting(olga)) == (Visitor("olga", "viewer"), Visitor("olga", "operator"))
    for nobody in ("", "printe", "printed ", wall[:-1], "nodus_" + "x" * 43, "é"):
        assert acting(nobody) is None
    hosting().revoke_token(workspace.home, "olga")
    assert acting(olga) is None
    (workspace.home / "tokens.json").write_text("{", encoding="utf-8")
    assert acting(wall) is None, "a damaged file lets nobody in"


def test_views_are_those_of_the_console_and_groups() -> None:
    assert all(verb.known_view(name) for name in ("campaigns", "home", "gpus", "budgets", "group/night-1"))
    assert not any(verb.known_view(name) for name in ("", "run", "estimate", "group/", "group/a/b", "group/A", "jobs/x", "../x"))


def test_the_way_of_the_command_is_the_way_of_its_consoles(tmp_path: Path) -> None:
    assert verb.way_environment(in_process=True, url="") == {"NODUS_IN_PROCESS": "1"}
    assert verb.way_environment(in_process=False, url="https://x") == {"NODUS_URL": "https://x"}
