"""Runs a task's hidden pytest tests as root and writes the verdict. Judged code never runs in this process.

A test asks for the fixtures `solution` (the solution file, loaded in a process of its own), `run`, `read` and `write`. It cannot import the
solution: the work folder is on no path here.
"""

from __future__ import annotations

import json
import os
import sys

from . import GRADER, processes, verdict
from .files import read, write
from .processes import SolutionError, kill_all
from .programs import run
from .solution import Solution, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

_MOST_NAMES = 10
_LONGEST_NAME = 100
_SESSION_ENDED = (0, 1, 5)
"""pytest's exit statuses of a session that went to its end: all passed, some failed, none ran."""


class _Results:
    """Counts tests by their outcome. What they print or assert is looked at by nobody: it may hold an answer."""

    def __init__(self) -> None:
        self.outcomes: dict[str, bool] = {}
        """Whether each test that ran passed, by its id."""
        self.broken: list[str] = []

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(self.outcomes.values())

    @property
    def failed(self) -> list[str]:
        """The functions that failed, each once; without parameters, for they may be answers."""
        return list(dict.fromkeys(_name(test) for test, passed in self.outcomes.items() if not passed))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file of tests that cannot be read."""
        if report.failed:
            self.broken.append(os.path.basename(report.nodeid) or "the tests")

    def pytest_internalerror(self) -> None:
        """pytest itself failed."""
        self.broken.append("pytest itself")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, or what it needs, passed or failed."""
        if report.failed:
            self.outcomes[report.nodeid] = False
        elif report.when == "call" and report.passed:
            self.outcomes.setdefault(report.nodeid, True)


def _name(test: str) -> str:
    return test.partition("[")[0].rsplit("::", 1)[-1][:_LONGEST_NAME]


def _fixtures(solution_file: str) -> object:
    import pytest  # noqa: PLC0415  # Its absence is told as such.

    class Fixtures:
        """What hidden tests may ask for."""

        @pytest.fixture
        def solution(self) -> Iterator[Solution]:
            """The solution file, freshly loaded for each test."""
            with load(solution_file) as loaded:
                yield loaded

        @pytest.fixture
        def run(self) -> Iterator[Callable[..., object]]:
            """Runs a program as the judged user."""
            yield run
            kill_all()

        @pytest.fixture
        def read(self) -> Callable[..., bytes]:
            """Reads a file as the judged user."""
            return read

        @pytest.fixture
        def write(self) -> Callable[..., None]:
            """Writes a file as the judged user."""
            return write

    return Fixtures()


def _missing(path: str) -> bool:
    try:
        read(path, 64 * 2**20)
    except SolutionError:
        return True
    return False


def main() -> int:
    """Judge; the settings lie in `/grader/tests.json`."""
    with open(os.path.join(GRADER, "tests.json"), encoding="utf-8") as file:
        settings = json.load(file)
    needed = settings["solutionFile"]
    if needed is not None and _missing(needed):
        verdict("InvalidOutput", 0.0, f"there is no file {needed}")
        return 0
    try:
        import pytest  # noqa: PLC0415
    except ImportError:
        verdict("InfrastructureFailure", 0.0, "the image's python3 has no pytest, which this grader needs")
        return 1
    results = _Results()
    folder = os.path.join(GRADER, "tests")
    options = [
        "-p",
        "no:cacheprovider",
        "--assert=plain",
        "--tb=no",
        "-q",
        f"--rootdir={folder}",
        "--basetemp",
        os.path.join(GRADER, "tmp", "pytest"),
    ]
    status = int(pytest.main([*options, folder], plugins=[results, _fixtures(needed or "solution.py")]))
    total = len(results.outcomes)
    if processes.failures:
        verdict("InfrastructureFailure", 0.0, f"the grader failed: {processes.failures[0]}")
    elif results.broken:
        verdict("InfrastructureFailure", 0.0, f"the hidden tests are broken: {', '.join(results.broken[:_MOST_NAMES])}")
    elif status not in _SESSION_ENDED:
        verdict("InfrastructureFailure", 0.0, f"pytest ended with status {status}")
    elif total == 0:
        verdict("InfrastructureFailure", 0.0, "there are no hidden tests that run")
    else:
        _judge(results, total, partial=settings["partial"])
    return 0


def _judge(results: _Results, total: int, *, partial: bool) -> None:
    message = f"{results.passed} of {total} tests passed"
    names = results.failed
    if names:
        more = len(names) - _MOST_NAMES
        message += f"; failed: {', '.join(names[:_MOST_NAMES])}" + (f" and {more} more" if more > 0 else "")
    correct = not names
    verdict(correct, results.passed / total if partial else float(correct), message)


if __name__ == "__main__":
    sys.exit(main())
