"""What a verb loads: never the screen library, and for a look at a file no backend either."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from nodus_tui.cli.main import VERBS, cli
from nodus_tui.connect import COMES_ALONG, DEFAULT_BACKEND

_SHOW_MODULES = """
import json, sys
from nodus_tui.cli.main import main
try:
    main(json.loads(sys.argv[1]))
finally:
    sys.stdout.flush()
    sys.stderr.write("\\nMODULES " + json.dumps(sorted(sys.modules)))
"""

_EXAMPLE = Path(__file__).parents[2] / "examples" / "hello-simulated.yaml"


def modules_after(arguments: list[str], tmp_path: Path) -> set[str]:
    environment = {**os.environ, "NODUS_HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _SHOW_MODULES, json.dumps(arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )
    return set(json.loads(done.stderr.rpartition("MODULES ")[2]))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_load_nearly_nothing(arguments: list[str], tmp_path: Path) -> None:
    loaded = modules_after(arguments, tmp_path)
    assert not loaded & {"textual", "rich", "pydantic", "yaml", "asyncio", "sqlite3", "aiohttp", "nodus_tui.contract"}


def test_looking_at_a_file_loads_neither_screen_nor_backend(tmp_path: Path) -> None:
    loaded = modules_after(["validate", "--offline", "-f", str(_EXAMPLE)], tmp_path)
    assert "yaml" in loaded
    assert not loaded & {"textual", "local_backend", "aiohttp", "asyncio", "sqlite3", "genai_prices"}


@pytest.mark.parametrize("arguments", [["get", "groups"], ["estimate", "-f", str(_EXAMPLE)], ["results", "none"], ["doctor", "--json"]])
def test_verbs_that_ask_a_backend_load_no_screen(arguments: list[str], tmp_path: Path) -> None:
    loaded = modules_after(arguments, tmp_path)
    assert "local_backend.backend" in loaded
    assert not loaded & {"textual", "genai_prices"}


_WORKS = {"local_backend.rooms", "local_backend.owner", "local_backend.working", "local_backend.sandboxing", "local_backend.applying"}
_HEAVY = {"aiohttp", "httpx2", "fastapi", "textual", "yaml", "genai_prices", "rich.console"}


@pytest.mark.parametrize("arguments", [["get", "groups"], ["get", "sweeps"], ["results", "none"], ["describe", "run/none"]])
def test_verbs_that_only_read_load_nothing_that_works(arguments: list[str], tmp_path: Path) -> None:
    loaded = modules_after(arguments, tmp_path)
    assert "local_backend.reading.reader" in loaded
    assert not loaded & (_WORKS | _HEAVY)


@pytest.mark.parametrize("group", COMES_ALONG)
def test_what_comes_along_is_what_is_registered(group: str) -> None:
    (registered,) = (point for point in entry_points(group=group) if point.name == DEFAULT_BACKEND)
    assert registered.value == COMES_ALONG[group]
    assert registered.load() is not None


def test_a_verb_does_not_look_through_every_installed_package(tmp_path: Path) -> None:
    assert "importlib.metadata" not in modules_after(["get", "groups"], tmp_path)


def test_reading_one_kind_loads_what_reads_no_other(tmp_path: Path) -> None:
    loaded = modules_after(["get", "groups"], tmp_path)
    assert "local_backend.reading.groups" in loaded
    assert not loaded & {"psutil", "local_backend.jobs", "local_backend.sweeps", "local_backend.sandbox_kind", "local_backend.budgets"}
    assert not loaded & {f"local_backend.reading.{name}" for name in ("definitions", "jobs", "sandboxes", "stream", "sweeps")}


def test_estimating_a_group_loads_nothing_that_runs_or_plans_other_kinds(tmp_path: Path) -> None:
    loaded = modules_after(["estimate", "-f", str(_EXAMPLE)], tmp_path)
    assert "local_backend.applying.groups" in loaded
    assert not loaded & {f"local_backend.{name}" for name in ("sandboxes", "grading", "sweeps", "training", "sandboxing", "applying.jobs")}


def test_where_no_engine_is_nothing_that_speaks_to_one_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "none")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    loaded = modules_after(["sandboxes", "list"], tmp_path)
    assert "local_backend.machine_sandboxes" in loaded
    assert not loaded & {"aiohttp", "local_backend.applying", "local_backend.models", "local_backend.training"}


@pytest.mark.parametrize("arguments", [["estimate", "-f", str(_EXAMPLE)], ["gpus"], ["validate", "-f", str(_EXAMPLE)]])
def test_verbs_that_need_no_container_load_no_client_of_engines(arguments: list[str], tmp_path: Path) -> None:
    assert "aiohttp" not in modules_after(arguments, tmp_path)


def test_the_rows_of_a_kind_load_no_other_kind(tmp_path: Path) -> None:
    loaded = modules_after(["get", "groups"], tmp_path)
    assert not loaded & {"nodus_tui.cli.rows.jobs", "nodus_tui.cli.rows.budgets", "nodus_tui.cli.sweep_texts", "nodus_tui.view_state.rows"}


def test_what_describes_a_kind_loads_no_other_kind(tmp_path: Path) -> None:
    modules_after(["--in-process", "apply", "-f", str(_EXAMPLE)], tmp_path)
    loaded = modules_after(["--in-process", "describe", "group/hello-simulated"], tmp_path)
    assert "nodus_tui.cli.details.groups" in loaded
    others = {f"nodus_tui.cli.details.{kind}" for kind in ("agents", "budgets", "jobs", "runs", "sweeps")}
    assert not loaded & (others | {"nodus_tui.cli.rows.jobs", "nodus_tui.cli.sweep_texts", "nodus_tui.view_state.run_facts", "textual"})


def test_looking_at_a_file_loads_no_kind_that_is_not_in_it(tmp_path: Path) -> None:
    loaded = modules_after(["validate", "--offline", "-f", str(_EXAMPLE)], tmp_path)
    assert "nodus_tui.contract.resources.agent_group" in loaded
    assert not loaded & {f"nodus_tui.contract.{name}" for name in ("configuration", "resources.budget", "resources.job", "resources.sweep")}


@pytest.mark.parametrize("verb", ["get", "run", "web", "scheduler", "sandboxes", "gpus"])
def test_the_help_of_a_verb_loads_no_backend_and_no_way_to_one(verb: str, tmp_path: Path) -> None:
    loaded = modules_after([verb, "--help"], tmp_path)
    assert not loaded & (_HEAVY | {"local_backend", "nodus_tui.remote.backend", "sqlite3"})


_COUNT_LOOKS = """
import atexit, gc, json, sys
from nodus_tui.cli.main import main
looks = []
gc.callbacks.append(lambda phase, info: looks.append(phase))
atexit.register(lambda: sys.stderr.write(f"\\nLOOKS {len(looks)} FROZEN {gc.get_freeze_count() > 0}"))
main(json.loads(sys.argv[1]))
"""


def test_memory_is_looked_through_neither_while_a_verb_loads_nor_at_its_end(tmp_path: Path) -> None:
    arguments = json.dumps(["validate", "--offline", "-f", str(_EXAMPLE)])
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_LOOKS, arguments], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=60
    )
    assert done.stderr.endswith("LOOKS 0 FROZEN True")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_command_and_says_in_the_list_what_it_does(verb: str) -> None:
    context = cli.make_context("nodus-tui", [verb], resilient_parsing=True)
    command = cli.get_command(context, verb)
    assert command is not None
    assert command.name == verb
    assert command.help
    assert len(VERBS[verb][1]) < 70
