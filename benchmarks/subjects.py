"""What is measured: this project's command and the peer's, each as a process that runs a number of single-turn runs and proves it did.

Knows the two command lines and how to read from their results that all work was done. Measures nothing.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from measuring import BenchmarkError, Measured, measure
from msgspec import Struct

BATCH = 100
"""Cases of one group: the most that one evaluation may have."""

_CONFIGURATION = {
    "models": [
        {
            "family": "sim",
            "provider": "simulated",
            "name": "simulated-1",
            "maxConcurrency": 100,
            "price": {"inputPerMTok": "1.00", "outputPerMTok": "5.00"},
            "simulated": {"accuracy": 0.7, "invalid": 0.05, "latencySeconds": 0},
        }
    ]
}


class Subject(Protocol):
    """Something that runs single-turn runs."""

    @property
    def label(self) -> str:
        """Its name in the table."""
        ...

    def run(self, runs: int, folder: Path) -> Measured:
        """Do that many runs in a fresh process and an empty folder. Raises BenchmarkError when any run is missing from its results."""
        ...


class Ours(Struct, frozen=True):
    """`nodus-tui run` on groups of 100 cases: real database, grader processes, ledger, statistics."""

    max_active: int

    @property
    def label(self) -> str:
        """Its name in the table."""
        return f"nodus-tui, maxActive {self.max_active}"

    def run(self, runs: int, folder: Path) -> Measured:
        """Run the groups, all at once, and count the scored cases of the results."""
        (folder / "spec.yaml").write_text("\n---\n".join(json.dumps(each) for each in self._documents(runs)), "utf-8")
        (folder / "config.yaml").write_text(json.dumps(_CONFIGURATION), "utf-8")
        program = Path(sys.executable).parent / "nodus-tui"
        if not program.exists():
            raise BenchmarkError(f"{program} is missing: run this with the Python that nodus-tui is installed for")
        command = [str(program), "run", "-f", "spec.yaml", "-o", "json"]
        kept = environment_without(("NODUS_", "PYTHON"))
        environ = kept | {"NODUS_HOME": str(folder / "home"), "NODUS_CONFIG": str(folder / "config.yaml")}
        measured = measure(command, environ=environ, folder=folder)
        printed = json.loads(measured.stdout)
        groups = printed if isinstance(printed, list) else [printed]
        scored = sum(group["coverage"]["scored"] for group in groups)
        if scored != runs:
            raise BenchmarkError(f"{self.label}: {scored} of {runs} runs were scored")
        return measured

    def _documents(self, runs: int) -> Sequence[Mapping[str, object]]:
        agent = {"families": ["sim"]}
        documents: list[Mapping[str, object]] = [document("Agent", "worker", {"model": agent, "perRunMaxCostUSD": "0.10"})]
        for place, first in enumerate(range(0, runs, BATCH)):
            evaluation = {"environment": "nodus/arithmetic-v2@2.0.0", "tasks": min(BATCH, runs - first), "seed": place}
            group = {"agent": "worker", "maxActive": self.max_active, "maxCostUSD": "10.00", "evaluation": evaluation}
            documents.append(document("AgentGroup", f"batch-{place}", group))
        return documents


def document(kind: str, name: str, spec: Mapping[str, object]) -> Mapping[str, object]:
    """One document of a spec file."""
    return {"apiVersion": "nodus.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


class Peer(Struct, frozen=True):
    """`inspect eval` with its mock model, from an environment of its own."""

    commands: Path
    """The folder with the environment's commands."""
    token_tables: Path
    """tiktoken's cache folder, with the table that the mock model's token counts need."""
    version: str

    @property
    def label(self) -> str:
        """Its name in the table."""
        return f"inspect-ai {self.version}"

    def run(self, runs: int, folder: Path) -> Measured:
        """Evaluate one task of so many samples, a hundred at once, and ask the written log whether all were completed."""
        shutil.copy(Path(__file__).with_name("peer_task.py"), folder)  # The peer takes no absolute path.
        limits = ["--max-connections", "100", "--max-samples", "100"]
        model = ["--model", "mockllm/model", "-T", f"n={runs}", "--display=none", "--log-dir", "logs"]
        environ = environment_without(("INSPECT_", "PYTHON")) | {"TIKTOKEN_CACHE_DIR": str(self.token_tables)}
        measured = measure([str(self.commands / "inspect"), "eval", "peer_task.py", *model, *limits], environ=environ, folder=folder)
        log = next((folder / "logs").glob("*.eval"), None)
        if log is None:
            raise BenchmarkError(f"{self.label}: it wrote no log")
        dump = measure([str(self.commands / "inspect"), "log", "dump", "--header-only", str(log)], environ=environ, folder=folder)
        header = json.loads(dump.stdout)
        completed = (header.get("results") or {}).get("completed_samples", 0)
        if header.get("status") != "success" or completed != runs:
            raise BenchmarkError(f"{self.label}: status {header.get('status')}, {completed} of {runs} samples were completed")
        return measured


def environment_without(prefixes: tuple[str, ...]) -> dict[str, str]:
    """The variables of this process, without those that would change what is measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
