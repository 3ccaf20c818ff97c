"""The terminal programs that console_peers.py compares: how each comes onto the machine, starts, and is led to a list of fifty.

A program is measured where its cursor stands in a list of fifty rows, since that is what the console shows all day.
"""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from measuring import BenchmarkError
from msgspec import Struct
from peer_setup import VERSION as INSPECT_VERSION
from peer_setup import make_environment
from pty_driving import TerminalTree
from subjects import environment_without

ROWS = 50
_BATCHES = 2
"""In which the changes of a second come."""
_SUBJECTS = Path(__file__).with_name("console_subjects.py")
_TASK = Path(__file__).with_name("waiting_task.py")
_SPEC = Path(__file__).parents[1] / "examples" / "hello-simulated.yaml"
_GROUP = "hello-simulated"
_FIRST, _LATER = "sum-00000", "sum-00009"
"""Names of rows: the first, and one that stands below it on every screen."""
_ENTER, _TAB, _JUMP, _RUN_QUERY = b"\r", b"\t", b"\x0f", b"\n"
_QUERY = b"select * from sums"


class Opened(Struct, frozen=True):
    """A program at its list, and what it took to its first content."""

    program: TerminalTree
    first_paint_seconds: float


class TerminalSubject(Protocol):
    """Something that is measured on a terminal."""

    @property
    def label(self) -> str:
        """Its name in the table."""
        ...

    @property
    def waits_for(self) -> str:
        """The text whose frame is the first with something of what the program was given."""
        ...

    @property
    def shows(self) -> str:
        """Where its cursor stands while it is measured, for people."""
        ...

    def prepare(self, folder: Path) -> None:
        """All that is done once, with a folder for everything that all repeats share. Raises BenchmarkError."""
        ...

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Opened]:
        """Start it in an empty folder and lead it to its list. Raises BenchmarkError when it does not come so far."""
        ...


class Console(Struct):
    """Ours: the installed command for the first paint, and the group's view of a scripted world with fifty runs at work for all else."""

    changes: int
    """Of rows, in a second."""
    waits_for: str = _GROUP
    home: Path = Path()
    """The workspace of the first paint; set by `prepare`."""

    @property
    def label(self) -> str:
        """Its name in the table."""
        return "nodus-tui, at work" if self.changes else "nodus-tui, nothing changes"

    @property
    def shows(self) -> str:
        """Where its cursor stands, for people."""
        changing = f"{self.changes} change their cost, tokens and calls each second" if self.changes else "none changes"
        return f"the view of a group of {ROWS} runs at work, of which {changing}"

    def prepare(self, folder: Path) -> None:
        """A workspace with one finished group, the same for all of ours."""
        self.home = folder / "workspace"
        if not self.home.exists():
            self._verb("run", "-f", str(_SPEC))
            self._verb("scheduler", "stop")

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Opened]:
        """Two programs, one after the other: only the second is handed out, and no scheduler runs beside it."""
        self._verb("scheduler", "start")
        try:
            with TerminalTree([_command()], environ=self._environ(self.home)) as program:
                first_paint = program.until(self.waits_for.encode())
        finally:
            self._verb("scheduler", "stop")
        command = [sys.executable, str(_SUBJECTS), "rows", str(ROWS), str(self.changes), str(_BATCHES), str(folder / "report")]
        with TerminalTree(command, environ=self._environ(folder)) as program:
            program.until(b"fleet")
            program.watch(1.0)
            program.press(_ENTER)
            program.seen(f"1 of {ROWS}".encode())
            yield Opened(program, first_paint)

    def _verb(self, *words: str) -> None:
        done = subprocess.run([_command(), *words], env=self._environ(self.home), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchmarkError(f"nodus-tui {' '.join(words)} failed: {done.stderr.strip()[-2000:]}")

    def _environ(self, home: Path) -> dict[str, str]:
        return _environ_of_all() | {"NODUS_HOME": str(home), "XDG_CONFIG_HOME": str(home)}


class Peer(Struct, frozen=True):
    """A terminal program of others, from an environment of its own."""

    package: str
    version: str
    venvs: Path
    """The folder with the environments of all peers."""
    waits_for: str
    shows: str
    command: tuple[str, ...]
    """The name of its command, and what stands behind."""
    lay: Callable[[Path], None]
    """Puts what it is given into the empty folder that it starts in."""
    lead: Callable[[TerminalTree], None]
    """From its first content to the list, by what a person would press."""
    beside: tuple[str, ...] = ()
    """Further requirements without which it does not start."""

    @property
    def label(self) -> str:
        """Its name in the table."""
        return f"{self.package} {self.version}"

    def prepare(self, folder: Path) -> None:  # noqa: ARG002 - nothing of it is shared by the repeats
        """Its environment."""
        make_environment(self.venvs / self.package, self.package, self.version, beside=self.beside)

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Opened]:
        """In a home of its own, so that no settings of whoever measures are in it."""
        self.lay(folder)
        program, *rest = self.command
        homes = {name: str(folder / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
        (folder / "home").mkdir()
        command = [str(self.venvs / self.package / "bin" / program), *rest]
        with TerminalTree(command, environ=_environ_of_all() | homes, folder=folder) as tree:
            first_paint = tree.until(self.waits_for.encode())
            tree.watch(2.0)  # A person does not press before either, and a program that is still loading may lose keys.
            self.lead(tree)
            yield Opened(tree, first_paint)


def ours() -> list[Console]:
    """At work as inspect-ai is, and with as little to do as the others have."""
    return [Console(changes=10), Console(changes=0)]


def peers(venvs: Path) -> list[Peer]:
    """Those that are compared, whose environments are in the folder or are made there."""
    inspect = f"eval {_TASK.name} --model mockllm/model -T n={ROWS} --display=full --log-dir logs --max-samples {ROWS}"
    return [
        Peer(
            "inspect-ai",
            INSPECT_VERSION,
            venvs,
            waits_for="waiting",
            shows=f"Running Samples: a list of {ROWS} samples at work, the selected one's messages beside it",
            command=("inspect", *inspect.split()),
            lay=_lay_task,
            lead=_to_samples,
        ),
        Peer(
            "harlequin",
            "2.17.0",
            venvs,
            waits_for="main",
            shows=f"Query Results: a table of {ROWS} rows, of which none changes",
            command=("harlequin", "--adapter", "sqlite", "small.db"),
            lay=_lay_table,
            lead=_to_results,
        ),
        Peer(
            "posting",
            "2.11.1",
            venvs,
            waits_for=_FIRST,
            shows=f"Collection: a list of {ROWS} requests, of which none is sent",
            command=("posting", "--collection", "requests"),
            lay=_lay_requests,
            lead=_to_requests,
            beside=("tree-sitter<0.26",),  # With 0.26.1 it ends by a segmentation fault before its first frame.
        ),
    ]


def _lay_task(folder: Path) -> None:
    shutil.copy(_TASK, folder)  # It takes no absolute path.


def _lay_table(folder: Path) -> None:
    database = sqlite3.connect(folder / "small.db")
    with database:
        database.execute("create table sums (task text, state text, cost text, tokens integer, calls integer)")
        rows = [(f"sum-{row:05d}", "Running", f"$0.{row:04d}", 7 * row, row % 9) for row in range(ROWS)]
        database.executemany("insert into sums values (?, ?, ?, ?, ?)", rows)
    database.close()


def _lay_requests(folder: Path) -> None:
    requests = folder / "requests"
    requests.mkdir()
    for place in range(ROWS):
        name = f"sum-{place:05d}"
        (requests / f"{name}.posting.yaml").write_text(f"name: {name}\nmethod: GET\nurl: http://localhost/{place}\n", "utf-8")


def _to_samples(program: TerminalTree) -> None:
    program.press(b"\x1b[<0;14;2M\x1b[<0;14;2m")  # A click: no key leads to that tab.
    program.seen(_LATER.encode())
    program.press(_TAB)


def _to_results(program: TerminalTree) -> None:
    program.press(_QUERY)
    program.watch(1.0)
    program.press(_RUN_QUERY)
    program.seen(_LATER.encode())


def _to_requests(program: TerminalTree) -> None:
    program.press(_JUMP)
    program.watch(1.0)
    program.press(_TAB)


def _command() -> str:
    return str(Path(sys.executable).with_name("nodus-tui"))


def _environ_of_all() -> dict[str, str]:
    return environment_without(("NODUS_", "INSPECT_", "PYTHON", "TEXTUAL", "NO_COLOR", "LC_ALL")) | {"LANG": "C.UTF-8"}
