"""Fixtures: a workspace, and the command line in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_workspace import Workspace
from click.testing import CliRunner, Result

from nodus_tui.cli.main import main

# What the tests of TrainingJobs have a workspace made of.
sys.path.append(str(Path(__file__).parent.parent / "training"))
# And those that look at a backend without a command.
sys.path.append(str(Path(__file__).parent.parent / "conformance"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def nodus(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line in this process, in the workspace: `nodus("get", "groups")`."""
    for name, value in workspace.environment.items():
        if name.startswith("NODUS_"):
            monkeypatch.setenv(name, value)

    def call(*arguments: str, text: str | None = None) -> Result:
        class Script:
            """What the runner calls: the whole console script, its exit code included."""

            name = "nodus-tui"

            def main(self, *, args: list[str], **_: object) -> None:
                main(args)

        return CliRunner().invoke(Script(), list(arguments), input=text)  # type: ignore[arg-type]  # it needs main and name only

    return call
