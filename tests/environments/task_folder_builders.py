"""Task folders for the tests, and the environments over them."""

from pathlib import Path

from local_backend.environments.task_folders.source import TaskFolderSource
from nodus_tui.contract.resources.environment import Environment

HARBOR_TOML = """
version = "1.0"
[metadata]
difficulty = "easy"
solution_explanation = "the answer is 42"
tags = ["a", "b"]
[verifier]
timeout_sec = 30.0
[agent]
timeout_sec = 120.0
[environment]
cpus = 2
memory = "2G"
storage = "512M"
"""
HARBOR_TEST = """#!/bin/bash
grep -qx 42 answer.txt && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""
BENCH_YAML = """
instruction: |-
  Write 42 to answer.txt.
author_name: somebody
difficulty: medium
category: maths
tags: [numbers]
parser_name: pytest
max_agent_timeout_sec: 100.0
max_test_timeout_sec: 20.0
"""
BENCH_COMPOSE = """
services:
  client:
    build:
      dockerfile: Dockerfile
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: [ "sh", "-c", "sleep infinity" ]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
"""


def write(root: Path, files: dict[str, str | None]) -> Path:
    """Write files below a folder; None takes one away."""
    for name, content in files.items():
        path = root / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
    return root


def harbor_task(root: Path, name: str = "forty-two", toml: str = HARBOR_TOML, **files: str | None) -> Path:
    """A task in Harbor's layout; `files` changes or removes (None) files, by path with `__` for `/`."""
    write(
        root / name,
        {
            "task.toml": toml,
            "instruction.md": "<!-- harbor-canary GUID 1 -->\n# BENCHMARK canary\n\nWrite 42 to answer.txt.\n",
            "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\nCOPY data.txt .\n",
            "environment/data.txt": "data\n",
            "tests/test.sh": HARBOR_TEST,
            "solution/solve.sh": "#!/bin/bash\necho 42 > answer.txt\n",
        },
    )
    return write(root / name, {path.replace("__", "/"): content for path, content in files.items()})


def bench_task(root: Path, name: str = "forty-two", task: str = BENCH_YAML, **files: str | None) -> Path:
    """A task in Terminal-Bench's layout."""
    write(
        root / name,
        {
            "task.yaml": task,
            "Dockerfile": "FROM ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624\nCOPY data.txt /app/\n",
            "docker-compose.yaml": BENCH_COMPOSE,
            "data.txt": "data\n",
            "run-tests.sh": "#!/bin/bash\npython3 -m pytest $TEST_DIR/test_outputs.py -rA\n",
            "tests/test_outputs.py": "def test_answer():\n    assert open('answer.txt').read().strip() == '42'\n",
            "solution.sh": "#!/bin/bash\necho 42 > answer.txt\n",
        },
    )
    return write(root / name, {path.replace("__", "/"): content for path, content in files.items()})


def environment_over(folder: Path, layout: str, **spec: object) -> Environment:
    """An environment over a folder of task folders."""
    return Environment.model_validate(
        {"metadata": {"name": "folders"}, "spec": {"version": "1", "folder": str(folder), "layout": layout, **spec}}
    )


def source_over(folder: Path, layout: str, **spec: object) -> TaskFolderSource:
    """Its tasks."""
    return TaskFolderSource({"spec": environment_over(folder, layout, **spec).spec.to_document()})
