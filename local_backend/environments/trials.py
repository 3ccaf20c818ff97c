"""How a task is judged in a sandbox: what is put where, what runs, and which solution must pass. The grader's process only; pure.

A task source makes trials, the grading room carries them out.
"""

import hashlib
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from nodus_tui.values import Quiet

SANDBOX_RULES = 1
"""Raised whenever a sandbox grader judges some answer differently than before, so that digests tell the two apart."""

RESERVED_NAMES = frozenset({"nodus_grading", "answer.json", "completion.txt", "verdict.json", "reward.txt", "tmp"})
"""What a grader's own files may not be called at the top of `/grader`."""


class TaskFile(Quiet, frozen=True):
    """The content of one file."""

    content: bytes
    executable: bool = False

    @classmethod
    def of(cls, content: bytes) -> "TaskFile":
        """A file of a task; it may be run when it says by what (`#!`)."""
        return cls(content, content.startswith(b"#!"))

    def fingerprint(self) -> list[object]:
        """What a digest covers of it."""
        return [hashlib.sha256(self.content).hexdigest(), self.executable]


class TrialLimits(Struct, frozen=True):
    """What judging one answer may use."""

    seconds: float = 60
    cpus: float = 1
    memory_bytes: int = 1 << 30
    disk_bytes: int = 1 << 30
    pids: int = 256


class Reference(Quiet, frozen=True):
    """A solution that the grader must find right."""

    files: Mapping[str, TaskFile] | None = None
    """By path below the work folder; they are laid over the task's own files."""
    text: str | None = None
    """What a solution file would hold, for trials that judge a completion or a text."""
    script: tuple[str, ...] = ()
    """A command that solves the task in the work folder, run as the agent after the files are there; it sees `script_files`."""
    script_files: Mapping[str, TaskFile] = field(default_factory=dict)
    """By path below `/tmp/reference`, which `script` may name."""
    script_seconds: float = 600


class Trial(Quiet, frozen=True):
    """How the answers to one task are judged."""

    kind: Literal["program", "pytest", "harbor", "terminal-bench"]
    """The last two are the tests of task folders: the command runs as the agent in the work folder, and leaves what its format defines."""
    command: tuple[str, ...] = ()
    """Of kind program: run as root in `/grader`."""
    grader_files: Mapping[str, TaskFile] = field(default_factory=dict)
    """By path below `/grader`. Of kind pytest: the hidden tests, by path below `/grader/tests`."""
    answer: object = None
    """JSON, given as `/grader/answer.json`."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """More variables of the command."""
    solution: Literal["files", "completion", "text", "either"] = "files"
    """`either`: the files of an agent that had a work folder, the last code block of the completion of one that had none."""
    solution_file: str | None = None
    partial_reward: bool = True
    """Of kind pytest: whether the reward is the share of tests that pass."""
    threshold: float = 1
    """The reward from which an answer is Correct, where only a reward is written."""
    image: str | None = None
    """None means the task's own, or the base image."""
    build: str | None = None
    """A folder with a Dockerfile from which `image` is built, where it is not here yet."""
    limits: TrialLimits = TrialLimits()
    network: bool = False
    """Only for foreign task folders that say so; answers are then no longer kept from the network."""
    reward_files: tuple[str, ...] = ("reward.txt",)
    """Where a program may write a bare reward, below `/grader` or absolute; the first that exists counts."""
    extra_folders: tuple[str, ...] = ()
    """More writable folders by absolute path, for foreign tests that expect theirs at fixed places. Judged code may write there, too."""
    root_files: Mapping[str, TaskFile] = field(default_factory=dict)
    """More files of the grader's by absolute path, in `extra_folders`: judged code may read them, and neither change nor remove them."""
    reference: Reference | None = None

    def fingerprint(self) -> list[object]:
        """What a digest covers of it: everything that decides a verdict, the reference solution left out."""
        limits = self.limits
        return [
            SANDBOX_RULES,
            self.kind,
            list(self.command),
            {path: file.fingerprint() for path, file in self.grader_files.items()},
            dict(self.environ),
            [list(self.extra_folders), {path: file.fingerprint() for path, file in self.root_files.items()}],
            [self.solution, self.solution_file, self.partial_reward, self.threshold, self.image, self.network, list(self.reward_files)],
            [limits.seconds, limits.cpus, limits.memory_bytes, limits.disk_bytes, limits.pids],
        ]
