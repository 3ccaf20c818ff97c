"""The process of a TrainingJob: `python -m local_backend.training.runner ORDER`, in the job's work folder, under the job's supervisor.

First it fetches the model and the data, then it has the harness score offline, then it grades what an Environment's graders must, and
writes results, provenance and manifest. When it is asked to end (SIGTERM) it writes what there is of them: the model's answers so far are
in the harness's cache, from which the next attempt goes on.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from local_backend.handed_over import OtherCodeError
from local_backend.jobs.telling import VARIABLE, Measurement
from local_backend.training import contained, held_out, scoring
from local_backend.training.bars import Bars
from local_backend.training.command import (
    ENVIRONMENT_TASK,
    OFFLINE,
    Fetched,
    Places,
    environment_task,
    harness_arguments,
    includes_file,
    includes_text,
    launched,
)
from local_backend.training.files import fingerprint, has_chat_template, model_bytes, model_files, write_json, write_records
from local_backend.training.inside import fetch
from local_backend.training.order import MANIFEST_FILE, PROVENANCE_FILE, RESULTS_FILE, EvaluationOrder
from local_backend.training.records import Findings, provenance, results
from local_backend.training.scores import NoResultsError, read_answers, read_results
from local_backend.training.teller import Teller
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.evaluation import HARNESS_VERSION

_STOPPED = 128 + signal.SIGTERM
_FAILED = 1
_KNOWN_FILE = "known.json"
"""In the work folder: what an attempt found out that the next one must find again."""
_FETCHED_FILE = "fetched.json"
_REQUEST_FILE = "request.json"
_GRADING_SHARE = 0.1
"""Of the whole progress, where graders work in sandboxes."""


class StoppedError(BaseException):
    """Somebody asked this process to end. No Exception: nothing that mends errors may take it for one."""


class FailedError(Exception):
    """The evaluation cannot go on; the text is a sentence."""


class Evaluation:
    """One attempt."""

    def __init__(self, order: EvaluationOrder, work: Path, environ: Mapping[str, str]) -> None:
        self.order = order
        self.work = work
        # Where this process finds its code is nothing to the harness's Python; what holds its container is a process of ours again.
        kept = {name: value for name, value in environ.items() if name != "PYTHONPATH" or order.image is not None}
        # Tasks of the user's own may be Python, and nothing is written beside them.
        self.environ = {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
        self.teller = Teller(Path(environ[VARIABLE]) if environ.get(VARIABLE) else None)
        self.findings = Findings(order, started_at=datetime.now(UTC), hardware=environ.get("NODUS_HARDWARE", "CPU"))
        self.places = Places(work)
        self.known: dict[str, str] = {}
        self.drawn: held_out.Drawn | None = None

    def run(self) -> int:
        """To its end; gives the exit code."""
        try:
            self._prepare()
            # Whatever ends it, and however suddenly: they are there.
            self._write_records()
            fetched = self._fetch()
            self._write_records()
            self._score(fetched)
            self._judge()
            self.findings.complete = True
        except StoppedError:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self._write()
            return _STOPPED
        except (FailedError, scoring.HarnessError, NoResultsError, held_out.UnfitTasksError) as error:
            return self._fail(str(error))
        except NodusError as error:
            return self._fail(held_out.told(error))
        except OSError as error:
            return self._fail(f"{error.filename or 'the disk'}: {error.strerror or error}")
        self._write()
        shutil.rmtree(self.work / "cache", ignore_errors=True)
        return 0

    def _fail(self, problem: str) -> int:
        sys.stderr.write(f"\n{problem}\n")
        self.findings.problem = problem
        self.teller.tell(problem=problem[:1000])
        self._write()
        return _FAILED

    def _prepare(self) -> None:
        for folder in (self.places.outputs, self.places.harness, self.places.environment):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        try:
            self.known = json.loads((self.work / _KNOWN_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            self.known = {}

    def _know(self, name: str, value: str, changed: str) -> None:
        """Keep what was found, or see that it is what an earlier attempt found. Raises FailedError."""
        if self.known.setdefault(name, value) != value:
            raise FailedError(changed)
        write_json(self.work / _KNOWN_FILE, self.known)

    # Fetching.

    def _fetch(self) -> Fetched:
        order = self.order
        self.teller.tell(progress=0.0, message="fetching the model and the data")
        found = self._fetched()
        self.findings.versions = found["versions"]
        model: dict[str, str] = found.get("model") or {}
        path = model.get("path") or (order.model.place if order.model.kind == "local" else "")
        if path:
            self._look_at_model(Path(path), model.get("commit", ""))
        if "note" in model:
            self.findings.notes.append(model["note"])
        if order.environment is not None:
            template = has_chat_template(Path(path)) if path else order.model.dialect == "chat"
            return Fetched(path, (ENVIRONMENT_TASK,), chat_template=template)
        tasks = self._with_samples(found["tasks"])
        self.findings.tasks = tasks
        kept = {name: task["kept"] for name, task in tasks.items() if task["kept"] is not None}
        chat = order.model.kind == "served" and order.model.dialect == "chat"
        return Fetched(path, tuple(tasks), kept, found.get("tokenizer", {}), chat_template=chat)

    def _fetched(self) -> dict[str, Any]:
        """What the harness's own Python finds and fetches. Raises FailedError."""
        order = self.order
        request = {
            "hub": {"repository": order.model.place, "revision": order.model.revision} if order.model.kind == "hub" else None,
            "served": {"baseURL": order.model.place, "name": order.model.name} if order.model.kind == "served" else None,
            "tasks": list(order.tasks),
            "includePaths": list(order.include_paths),
            "filter": dict(order.task_filter),
            "limit": order.number("limit"),
            "needs": self._needs(),
        }
        asked, answered = self.work / _REQUEST_FILE, self.work / _FETCHED_FILE
        write_json(asked, request)
        answered.unlink(missing_ok=True)
        command = self._in_image([order.python, "-P", str(Path(fetch.__file__)), str(asked), str(answered)], self.environ, network=True)
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=dict(self.environ), check=False).returncode  # noqa: S603 - our own script
        try:
            found: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            problem = (
                contained.problem_of(self.work) or f"the model and the data could not be fetched (exit code {code}); the log says more"
            )
            raise FailedError(problem) from None
        if "problem" in found:
            raise FailedError(str(found["problem"]))
        return found

    def _needs(self) -> dict[str, str]:
        """What an image must have, which may not have been here when the job was made."""
        if self.order.image is None:
            return {}
        return {"lm_eval": HARNESS_VERSION, **({} if self.order.model.kind == "served" else {"torch": ""})}

    def _in_image(self, command: list[str], environ: Mapping[str, str], *, network: bool) -> list[str]:
        """The same command, in the harness's image where it has one."""
        order = self.order
        if order.image is None:
            return command
        return contained.command_in(order.image, order, self.work, environ, command, network=network)

    def _look_at_model(self, path: Path, commit: str) -> None:
        if not path.exists():
            raise FailedError(f"there is no model at {path}")
        findings = self.findings
        findings.commit = commit
        findings.model_files, findings.model_bytes = model_files(path), model_bytes(path)
        mark = fingerprint(findings.model_files)
        self.places = Places(self.work, mark[:16])

    def _with_samples(self, tasks: dict[str, Any]) -> dict[str, Any]:
        left = {name: task for name, task in tasks.items() if task["samples"]}
        gone = sorted(set(tasks) - set(left))
        if not left:
            raise FailedError("no sample of these tasks has the values of taskFilter")
        if gone:
            self.findings.notes.append(f"No sample of {', '.join(gone)} has the values of taskFilter.")
        return left

    # Scoring.

    def _score(self, fetched: Fetched) -> None:
        order, weights = self.order, dict[str, float]()
        if order.environment is not None:
            self.drawn = asyncio.run(held_out.draw(order, order.environment, expect_digest=self.known.get("digest")))
            self._know("digest", self.drawn.digest, f"the tasks of {order.environment.reference} are not those of the attempt before")
            self._write_prompts(self.drawn)
        for task in self.findings.tasks.values():
            weights[task["requests"]] = weights.get(task["requests"], 0.0) + task["samples"]
        if len(order.include_paths) > 1:
            includes_file(self.places).write_text(includes_text(order), encoding="utf-8")
        on_cpu = self.findings.hardware == "CPU"
        devices = 1 if order.model.kind == "served" else order.devices
        arguments = harness_arguments(order, fetched, self.places, device="cpu" if on_cpu else "cuda")
        command = launched(order.python, devices, arguments)
        self.findings.command, self.findings.chat_template = command, fetched.chat_template
        bars, environ, network = Bars(weights), self._harness_environ(on_cpu=on_cpu, devices=devices), order.model.kind == "served"
        self.teller.tell(message="loading the model")
        done = scoring.run(
            self._in_image(command, environ, network=network),
            environ,
            self.work,
            bars,
            lambda: self.teller.progress(bars.progress * (1 - self._grading), "scoring"),
            network=network,
            contained=order.image is not None,
            # Without a grader the harness has no score of an Environment's tasks, and prints a figure that stands for none.
            tables=order.environment is None,
        )
        self.findings.offline, self.findings.seconds, self.findings.cached = done.offline, done.seconds, bars.cached
        if done.offline == "environment variables":
            self.findings.notes.append(
                "The harness had a network: this system lets nobody take one away. Its libraries were told not to use it."
            )

    @property
    def _grading(self) -> float:
        environment = self.order.environment
        return _GRADING_SHARE if environment is not None and environment.engine is not None else 0.0

    def _write_prompts(self, drawn: held_out.Drawn) -> None:
        prompts = self.places.environment / "prompts.jsonl"
        lines = (json.dumps({"id": task.id, "prompt": task.prompts[0]}) for task in drawn.tasks)
        prompts.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        write_json(self.places.environment / f"{ENVIRONMENT_TASK}.yaml", environment_task(prompts, self.order))

    def _harness_environ(self, *, on_cpu: bool, devices: int) -> dict[str, str]:
        order = self.order
        environ = {name: value for name, value in self.environ.items() if name not in order.fetching_variables and name != VARIABLE}
        key = environ.pop(order.model.key_variable, "") if order.model.key_variable else ""
        environ |= OFFLINE
        # Advice about what is not installed, a served model's harness has no torch, is none for whoever reads the log.
        environ |= {
            "PYTHONUNBUFFERED": "1",
            "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
            "OMP_NUM_THREADS": str(max(1, int(order.cpus / devices))),
        }
        if key:
            environ["OPENAI_API_KEY"] = key
        if order.environment is not None and "TMPDIR" in environ:
            # Its prompts are of this job alone, and are not to stay in the user's cache of data.
            environ["HF_DATASETS_CACHE"] = str(Path(environ["TMPDIR"]) / "datasets")
        if on_cpu:
            # The harness looks for accelerators whatever device it is told, and would spread the model over them.
            environ["CUDA_VISIBLE_DEVICES"] = ""
        return environ

    # Results.

    def _judge(self) -> None:
        order, findings = self.order, self.findings
        if order.environment is None or self.drawn is None:
            findings.harness = read_results(self.places.harness)
            findings.scores = findings.harness.scores
        else:
            findings.harness = read_results(self.places.harness)
            answers = read_answers(self.places.harness, ENVIRONMENT_TASK)
            total = len(self.drawn.tasks)
            self.teller.tell(message="grading")

            def graded(count: int) -> None:
                self.teller.progress(1 - self._grading * (1 - count / total), "grading")

            findings.digest = self.drawn.digest
            findings.cases = asyncio.run(held_out.grade(order, order.environment, self.drawn, answers, graded))
            findings.summary = held_out.summary(findings.cases)
            findings.scores = held_out.task_scores(order.environment.reference, findings.summary)
            for each in findings.scores:
                error = f" ± {each.standard_error:.4f}" if each.standard_error is not None else ""
                sys.stdout.write(f"{each.task}: {each.metric} {each.value:.4f}{error} over {each.samples:,} tasks\n")
        self._measure()

    def _measure(self) -> None:
        """How fast it was, unless an earlier attempt had answered some of it."""
        findings = self.findings
        samples = len(self.drawn.tasks) if self.drawn is not None else sum(task["samples"] for task in findings.tasks.values())
        if findings.cached == 0 and findings.seconds > 0 and samples and self.order.model.kind != "served":
            devices = self.order.devices
            model = self.order.uri.partition("@")[0]
            measured = Measurement(model=model, samples=samples, seconds=findings.seconds, devices=devices)
            self.teller.tell(measured=measured)

    def _write(self) -> None:
        """Everything that is kept. A disk that does not take it is told by the exit code."""
        findings, outputs = self.findings, self.places.outputs
        findings.ended_at = datetime.now(UTC)
        self.teller.tell(scores=findings.scores, notes=tuple(findings.notes), **({"message": ""} if findings.complete else {}))
        for path in sorted(self.places.harness.rglob("*")):
            # The harness puts them into a folder that is called by the model's whole path.
            if path.is_file():
                (outputs / "harness").mkdir(exist_ok=True)
                shutil.copy(path, outputs / "harness" / path.name)
        self._write_records()

    def _write_records(self) -> None:
        findings = self.findings
        write_records(self.places.outputs, {RESULTS_FILE: results(findings), PROVENANCE_FILE: provenance(findings)}, MANIFEST_FILE)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise StoppedError


def main() -> int:
    """Carry out the order."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        order = EvaluationOrder.from_text(sys.argv[1])
    except OtherCodeError as error:
        sys.stderr.write(f"{error}\n")
        Teller(Path(told) if (told := os.environ.get(VARIABLE)) else None).tell(problem=str(error))
        return _FAILED
    return Evaluation(order, Path.cwd(), os.environ).run()


if __name__ == "__main__":
    sys.exit(main())
