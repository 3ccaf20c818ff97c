"""Runs the hidden tests of the code environment in one pytest process, with a stand-in for the fixtures of the grading sandbox.

Every variant of a task (its reference, the files as the agent finds them, a plausible wrong solution) is a folder with the hidden tests and
the files of the answer. The stand-in calls a solution in this process; the real fixtures are tested where sandboxes are.
"""

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from local_backend.environments.code.task_data import CodeTask

_FIXTURES = """
import importlib, copy, subprocess, sys
import pytest

sys.dont_write_bytecode = True
PLAIN = (str, int, float, bool, type(None))

def plain(value):
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value)
        return {key: plain(each) for key, each in value.items()}
    assert type(value) in PLAIN, f"a {type(value).__name__} is no plain value"
    return value

class Solution:
    def __init__(self, folder):
        self.folder = str(folder)

    def mutated(self, name, *arguments):
        given = copy.deepcopy(arguments)
        return self.ask(name, given, {}), given

    def __getattr__(self, name):
        return lambda *arguments, **named: self.ask(name, copy.deepcopy(arguments), named)

    def ask(self, name, arguments, named):
        plain(list(arguments))
        for module in [key for key, each in sys.modules.items() if (getattr(each, "__file__", None) or "").find("/answer/") >= 0]:
            del sys.modules[module]
        sys.path.insert(0, self.folder)
        importlib.invalidate_caches()
        try:
            return plain(getattr(importlib.import_module("solution"), name)(*arguments, **named))
        finally:
            sys.path.remove(self.folder)

@pytest.fixture
def folder(request):
    return request.path.parent / "answer"

@pytest.fixture
def solution(folder):
    return Solution(folder)

@pytest.fixture
def run(folder):
    def call(argv, stdin=b"", timeout=10.0):
        given = stdin.encode() if isinstance(stdin, str) else stdin
        argv = [sys.executable if argv[0] == "python3" else argv[0], *argv[1:]]
        return subprocess.run(argv, input=given, capture_output=True, timeout=timeout, cwd=folder)
    return call

@pytest.fixture
def write(folder):
    return lambda path, text: (folder / path).write_text(text, "utf-8", newline="\\n")
"""


def outcomes(folder: Path, tasks: Iterable[CodeTask], variant: str) -> Mapping[str, Counter[str]]:
    """How many hidden tests of each task passed and failed with a variant: `reference`, `start` or `shallow`."""
    for task in tasks:
        where = folder / task.id
        (where / "answer").mkdir(parents=True)
        given = {"reference": task.reference, "start": {}, "shallow": task.shallow}[variant]
        for name, content in {**task.files, **given}.items():
            (where / "answer" / name).write_text(content, "utf-8")
        (where / f"test_{task.id.replace('-', '_')}.py").write_text(task.tests, "utf-8")
    (folder / "conftest.py").write_text(_FIXTURES, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    report = folder / "report.xml"
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "--timeout=20", f"--junitxml={report}"]
    subprocess.run([sys.executable, "-m", "pytest", *options, str(folder)], cwd=folder, capture_output=True, check=False)
    counted: dict[str, Counter[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        task_id = (case.get("classname") or "").split(".")[0]
        bad = any(child.tag in {"failure", "error"} for child in case)
        counted.setdefault(task_id, Counter())["failed" if bad else "passed"] += 1
    return counted
