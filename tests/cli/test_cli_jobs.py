"""Jobs by the command line: with the work in the command's own process, and with a detached scheduler's."""

import json
import os
import pty
import sys
import threading
from collections.abc import Callable

import pytest
from cli_workspace import Workspace
from click.testing import Result

pytestmark = pytest.mark.timeout(90)


def spec(workspace: Workspace, name: str, command: str, **more: object) -> str:
    words = [sys.executable, "-c", command]
    document = {
        "apiVersion": "nodus.dev/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"command": words, "maxCostUSD": "0.10", "network": True, **more},
    }
    return workspace.write(json.dumps(document), f"{name}.json")


def test_run_shows_the_output_waits_and_prints_what_came_of_it(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    path = spec(workspace, "work", "print('hello'); open('a.txt', 'w').write('data')", outputs=["a.txt"])
    done = nodus("run", "-f", path, "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert "hello\n" in done.stderr
    document = json.loads(done.stdout)
    assert (document["kind"], document["status"]["phase"], document["status"]["exitCode"]) == ("Job", "Succeeded", 0)
    assert nodus("logs", "work").stdout == "hello\n"
    assert json.loads(nodus("get", "job/work", "-o", "json").stdout)["status"]["outputs"][0]["path"] == "a.txt"
    assert "work" in nodus("get", "jobs").stdout
    described = nodus("describe", "work").stdout
    assert "a.txt  4 B  sha256 3a6eb07" in described
    assert nodus("cp", "job/work:a.txt", str(workspace.folder / "here.txt")).exit_code == 0
    assert (workspace.folder / "here.txt").read_text() == "data"
    assert json.loads(nodus("cp", "job/work:", "-o", "json").stdout)[0]["path"] == "a.txt"
    again = nodus("run", "-f", path, "-o", "json")
    assert json.loads(again.stdout) == json.loads(nodus("get", "job/work", "-o", "json").stdout)
    assert nodus("wait", "job/work").exit_code == 0
    assert nodus("wait", "work").exit_code == 0
    assert nodus("run", "-f", path, "--as", "other").exit_code == 0
    assert nodus("delete", "--yes", "job/work").exit_code == 0
    assert nodus("logs", "work").exit_code == 2


@pytest.mark.parametrize(
    ("command", "more", "code"),
    [
        ("raise SystemExit(7)", {}, 1),
        ("import time; time.sleep(60)", {"timeout": "1s"}, 4),
        ("import time; time.sleep(60)", {"maxCostUSD": "0.03"}, 3),
    ],
)
def test_the_exit_code_says_how_it_ended(
    workspace: Workspace, nodus: Callable[..., Result], command: str, more: dict[str, object], code: int
) -> None:
    workspace.config.write_text('rates: {CPU: "36"}\n', encoding="utf-8")
    done = nodus("run", "-q", "-f", spec(workspace, "work", command, **{"maxCostUSD": "10", **more}))
    assert done.exit_code == code, done.stderr


def test_a_terminal_is_not_obeyed_to_and_a_file_gets_the_text_as_it_is(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    path = spec(workspace, "work", r"print('\x1b[2J' + 'x' * 200_000 + '\x1b]0;title\x07')")
    assert nodus("run", "-q", "-f", path).exit_code == 0
    assert nodus("logs", "work").stdout.startswith("\x1b[2J")
    ours, theirs = pty.openpty()
    # Read along: a terminal takes only so much ahead.
    seen = bytearray()

    def read() -> None:
        while True:
            try:
                data = os.read(ours, 65_536)
            except OSError:
                return
            if not data:
                return
            seen.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    workspace.on_terminal(theirs, "logs", "work")
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert b"\x1b" not in seen
    assert len(seen) > 200_000


def test_what_the_words_cannot_mean_is_told(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    assert "only jobs have logs" in nodus("logs", "groups/x").stderr
    assert nodus("wait", "agents/x").exit_code == 2
    assert nodus("kill", "--yes", "job/none").exit_code == 2
    assert nodus("cp", "job/none:").exit_code == 2
