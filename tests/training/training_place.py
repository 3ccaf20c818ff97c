"""A workspace for tests of TrainingJobs: real schedulers, supervisors, runners, graders. The harness is a stand-in unless it is named."""

import json
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from local_backend.backend import LocalBackend, open_local
from nodus_tui.contract.backend import Backend, BackendOptions
from nodus_tui.contract.resources.training_job import TrainingJob, TrainingJobStatus
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

STAND_IN = Path(__file__).parent / "stand_in"


def stand_in_python(folder: Path) -> Path:
    """A Python in which the stand-ins for lm-eval and torch are installed."""
    packages = folder / "stand-in"
    shutil.copytree(STAND_IN, packages)
    for name, version in (("lm_eval", "0.4.13"), ("torch", "2.13.0")):
        facts = packages / f"{name}-{version}.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python


class TrainingPlace:
    """One test's folder: a model, benchmark tasks, a workspace."""

    def __init__(self, folder: Path, python: Path | str, model: Path | None = None) -> None:
        self.folder = folder
        self.python = python
        self.model = model or folder / "model"
        self.tasks = folder / "tasks"
        self.settings = ""
        """More of the configuration."""
        self.evaluate: dict[str, Any] = {}
        """More of its part about the harness."""
        self.tasks.mkdir(exist_ok=True)
        if model is None:
            self.model.mkdir()
            (self.model / "config.json").write_text("{}", encoding="utf-8")
            self.behave()

    def behave(self, **how: Any) -> None:
        """How the stand-in behaves (see stand_in/lm_eval)."""
        (self.model / "stand-in.json").write_text(json.dumps(how), encoding="utf-8")

    def task(self, name: str, documents: Sequence[dict[str, Any]], **config: Any) -> None:
        """A benchmark task of one's own; JSON is YAML."""
        data = self.tasks / f"{name}.jsonl"
        data.write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")
        document = {
            "task": name,
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data), "train": str(data)}},
            "test_split": "test",
            "fewshot_split": "train",
            "doc_to_text": "{{question}} =",
            "metadata": {"version": 1.0},
            **config,
        }
        (self.tasks / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")

    def sums(self, count: int = 20, name: str = "sums") -> None:
        """A task of choices; every second document is easy."""
        documents = [
            {"question": f"{n} + {n}", "choices": [str(2 * n), str(2 * n + 1)], "label": 0, "difficulty": "easy" if n % 2 else "hard"}
            for n in range(count)
        ]
        self.task(
            name,
            documents,
            output_type="multiple_choice",
            doc_to_choice="{{choices}}",
            doc_to_target="label",
            metric_list=[{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        )

    def words(self, count: int = 20, name: str = "words", tokens: int = 8) -> None:
        """A task of free text."""
        self.task(
            name,
            [{"question": f"{n} + {n}", "answer": str(2 * n), "difficulty": "easy" if n % 2 else "hard"} for n in range(count)],
            output_type="generate_until",
            doc_to_target="{{answer}}",
            generation_kwargs={"until": ["\n"], "max_gen_toks": tokens, "do_sample": False},
            metric_list=[{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        )

    def document(self, name: str = "score", **spec: Any) -> dict[str, Any]:
        """A TrainingJob."""
        whole = {
            "runtime": "nodus/evaluate",
            "model": {"uri": f"file://{quote(str(self.model))}"},
            "resources": {"hardware": ["CPU"]},
            "maxCostUSD": "100",
            **spec,
        }
        return {"apiVersion": "nodus.dev/v1beta1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": whole}

    def bundle(self, *documents: dict[str, Any]) -> SpecBundle:
        """Documents as they stand in a file in this folder."""
        text = "\n---\n".join(json.dumps(each) for each in documents)
        return load_specs([SpecSource("score.yaml", text.encode(), self.folder)])

    def benchmark(self, *tasks: str, name: str = "score", parameters: dict[str, Any] | None = None, **spec: Any) -> SpecBundle:
        """A TrainingJob that scores tasks of this folder."""
        chosen = {"parameters": {"tasks": list(tasks), **(parameters or {})}, "includePaths": ["tasks"], **spec}
        return self.bundle(self.document(name, **chosen))

    @asynccontextmanager
    async def backend(self, *, role: Any = "work") -> AsyncIterator[LocalBackend]:
        """The embedded backend at work. A CPU hour costs $9 (a TrainingJob's four slices: one cent a second)."""
        config = self.folder / "config.yaml"
        evaluate = json.dumps({"python": str(self.python), **self.evaluate})
        text = f"rates: {{CPU: '9'}}\njobs: {{stopGrace: 2s}}\nevaluate: {evaluate}\n{self.settings}"
        config.write_text(text, encoding="utf-8")
        async with await open_local(BackendOptions(home=self.folder / "home", config=config, role=role)) as backend:
            yield backend


async def training_job(backend: Backend, name: str = "score") -> tuple[TrainingJob, TrainingJobStatus]:
    found = await backend.get("TrainingJob", name)
    assert isinstance(found, TrainingJob)
    assert found.status is not None
    return found, found.status


async def until(backend: Backend, reached: Any = None, name: str = "score") -> TrainingJobStatus:
    """Its status once that holds of it; without anything, once it has ended."""
    cursor = (await backend.snapshot()).cursor
    _, status = await training_job(backend, name)
    async with aclosing(cast("Any", backend.watch(after=cursor))) as batches:
        while not (reached(status) if reached else status.ended):
            assert reached is None or not status.ended, f"it ended before: {status.message}"
            await anext(batches)
            _, status = await training_job(backend, name)
    return status


async def output(backend: Backend, path: str, name: str = "score") -> Any:
    """A kept JSON file."""
    pieces = [piece async for piece in backend.read_job_file(name, f"outputs/{path}")]
    return json.loads(b"".join(pieces))


async def log_of(backend: Backend, name: str = "score") -> str:
    text, place = "", 0
    while True:
        piece = await backend.job_log(name, after=place, wait_seconds=5)
        text, place = text + piece.text, piece.next_offset
        if piece.ended:
            return text
