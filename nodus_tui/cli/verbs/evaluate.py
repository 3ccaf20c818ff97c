"""`evaluate`: the environment in which TrainingJobs score models: making it, and what is there."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import output_option
from nodus_tui.cli.output import emit, json_text, pairs_text
from nodus_tui.cli.session import with_backend
from nodus_tui.connect import cache_path
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.evaluation import (
    CPU_WHEELS,
    HARNESS,
    HARNESS_VERSION,
    TORCH,
    EvaluationFact,
    Purpose,
    managed_folder,
    managed_python,
    requirements,
)

_WITH: Mapping[Purpose, str] = {"gpu": " and torch, a large download", "cpu": " and torch for processors", "api": " without torch"}


@click.group("evaluate")
def command() -> None:
    """The environment in which TrainingJobs run lm-evaluation-harness. It is none of nodus-tui's own."""


@command.command("setup")
@click.option("--cpu", "purpose", flag_value="cpu", help="Torch for processors only: a fraction of the download.")
@click.option("--api", "purpose", flag_value="api", help="Without torch: for models that a server serves (family://NAME).")
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Make it with this Python (3.10 or newer); without it, with the one that runs nodus-tui.",
)
def setup(purpose: Purpose | None, python: Path | None) -> int:
    """Make it on this machine, or bring it to the versions that this nodus-tui works with.

    It lies in the cache folder (NODUS_CACHE). An environment of your own is named by `evaluate: {python: PATH}` in the configuration.
    """
    folder, wanted = managed_folder(cache_path()), purpose or "gpu"
    say(f"making {folder}: {HARNESS} {HARNESS_VERSION}{_WITH[wanted]}; this takes some minutes")
    with _alone(folder):
        if not managed_python(cache_path()).is_file():
            _run([str(python or sys.executable), "-m", "venv", str(folder)])
        pip = [str(managed_python(cache_path())), "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off", "--quiet"]
        if wanted == "cpu":
            # By itself: that index has little else, and all the rest would be asked of it too.
            _run([*pip, "--no-deps", "--retries", "1", "--extra-index-url", CPU_WHEELS, TORCH])
        _run([*pip, *requirements(wanted)])
    say("done; `nodus-tui evaluate status` says what is there")
    return Exit.DONE


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One at a time: two that install into one environment leave some of each behind."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another `nodus-tui evaluate setup` is making it already; this one waits for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(words: list[str]) -> None:
    # What a person's shell has set for another environment is not meant for this one.
    environ = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"}}
    try:
        code = subprocess.run(words, env=environ, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603 - our own words
    except OSError as error:
        raise NodusError(ErrorCode.UNAVAILABLE, f"{words[0]} cannot be started: {error.strerror}") from error
    if code:
        raise NodusError(ErrorCode.UNAVAILABLE, f"`{' '.join(words[:4])} …` failed ({code}); its own words stand above")


@command.command("status")
@output_option("table", "json")
def status(output: str) -> int:
    """What the backend's machine has. Exit 4 when no TrainingJob could run."""

    async def ask(backend: Backend) -> EvaluationFact:
        fact = (await backend.info(probe=True)).evaluation
        return fact or EvaluationFact(problem="the backend does not say whether it can run TrainingJobs")

    fact = with_backend("look", ask)
    if output == "json":
        emit(json_text(fact.to_document()))
    else:
        emit(
            pairs_text(
                [
                    ("Python", f"{fact.python} ({fact.source})" if fact.python else ""),
                    (
                        HARNESS,
                        fact.harness or ("known when a TrainingJob has fetched the image" if fact.image and not fact.problem else ""),
                    ),
                    ("torch", fact.torch or ("none: only served models can be scored" if fact.harness else "")),
                    ("Problem", fact.problem),
                ]
            )
        )
    return Exit.INFRASTRUCTURE if fact.problem else Exit.DONE
