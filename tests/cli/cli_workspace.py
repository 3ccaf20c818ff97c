"""A workspace of its own for each test, with simulated models in its catalogue, and the installed command."""

import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from nodus_tui.cli.main import main

COMMAND = Path(sys.executable).with_name("nodus-tui")
"""The console script that the installation made."""

CONFIGURATION = """\
models:
  - family: quick
    provider: simulated
    name: simulated-quick
    price: {inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}
    simulated: {accuracy: 0.7, outputTokens: 20, seed: 1}
  - family: perfect
    provider: simulated
    name: simulated-perfect
    price: {inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}
    simulated: {accuracy: 1.0, outputTokens: 20, seed: 1}
  - family: slow
    provider: simulated
    name: simulated-slow
    price: {inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}
    simulated: {accuracy: 1.0, outputTokens: 20, latencySeconds: 600, seed: 1}
  - family: steady
    provider: simulated
    name: simulated-steady
    price: {inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}
    simulated: {accuracy: 1.0, outputTokens: 20, latencySeconds: 0.7, seed: 1}
  - family: broken
    provider: simulated
    name: simulated-broken
    price: {inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}
    simulated: {failures: 1.0, outputTokens: 20, seed: 1}
"""

SPEC = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata: {{name: {agent}}}
spec:
  system: Calculate.
  model: {{families: [{family}], maxTokens: 100}}
  perRunMaxCostUSD: "{run_cap}"
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata: {{name: {name}}}
spec:
  agent: {agent}
  maxActive: {active}
  maxCostUSD: "{cap}"
  evaluation:
    environment: nodus/arithmetic-v2@2.0.0
    tasks: {tasks}
    seed: 7
    timeout: 30m
"""


class _Script:
    """What click's runner calls: the whole console script, its exit code included."""

    name = "nodus-tui"

    def main(self, *, args: list[str], **_: object) -> None:
        main(args)


_SCRIPT: Any = _Script()


class Workspace:
    """A state folder with a configuration file, and the ways to use it."""

    detached = False
    """Whether the work is a detached scheduler's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.config = folder / "config.yaml"
        self.config.write_text(CONFIGURATION, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        names = {"NODUS_HOME": str(self.home), "NODUS_CONFIG": str(self.config), "TERM": "dumb", "COLUMNS": "120"}
        names |= {} if self.detached else {"NODUS_IN_PROCESS": "1"}
        return {**{name: value for name, value in os.environ.items() if not name.startswith("NODUS_")}, **names}

    def write(self, text: str, name: str = "spec.yaml") -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def spec(
        self,
        name: str = "hello",
        family: str = "perfect",
        *,
        tasks: int = 3,
        active: int = 10,
        run_cap: str = "0.10",
        cap: str = "5.00",
        agent: str = "solver",
    ) -> str:
        text = SPEC.format(name=name, family=family, tasks=tasks, active=active, run_cap=run_cap, cap=cap, agent=agent)
        return self.write(text, f"{name}.yaml")

    def installed(
        self, *arguments: str, text: str | None = None, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """The installed command, without a terminal."""
        return subprocess.run(
            [COMMAND, *arguments],
            input=text if text is not None else "",
            capture_output=True,
            text=True,
            env={**self.environment, **(env or {})},
            cwd=self.folder,
            check=False,
            timeout=100,
        )

    def called(self, *arguments: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """The same code in this process, for verbs that listen to no signal: starting a process costs more than most of them do."""
        ours = {name: None for name in os.environ if name.startswith("NODUS_")} | self.environment | (env or {})
        with ThreadPoolExecutor(max_workers=1) as pool:  # A verb has an event loop of its own.
            done = pool.submit(CliRunner().invoke, _SCRIPT, list(arguments), env=ours).result()
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    def on_terminal(self, terminal: int, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        """The installed command with a terminal for its standard output."""
        return subprocess.run(
            [COMMAND, *arguments], stdout=terminal, stderr=subprocess.PIPE, env=self.environment, cwd=self.folder, check=False, timeout=60
        )
