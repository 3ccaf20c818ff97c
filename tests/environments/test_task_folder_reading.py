"""Task folders in both layouts become tasks; what is not supported is told, task by task, and nothing secret leaves."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError
from task_folder_builders import BENCH_COMPOSE, BENCH_YAML, HARBOR_TOML, bench_task, environment_over, harbor_task, source_over

from local_backend.environments.catalogue import own_environment
from local_backend.environments.client import check
from local_backend.environments.secret_tasks import SourceError
from local_backend.environments.worker import loaded
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.environment import EnvironmentSpec


def test_a_harbor_task(tmp_path: Path) -> None:
    harbor_task(tmp_path)
    (task,) = source_over(tmp_path, "harbor").draw("test", 0, 1)
    assert (task.id, task.prompts) == ("forty-two", ("Write 42 to answer.txt.",))
    assert task.metadata == {"difficulty": "easy", "tags": ["a", "b"]}
    bench, trial = task.workbench, task.trial
    assert bench is not None
    assert trial is not None
    assert (bench.workdir, bench.build, bench.agent_seconds) == ("/app", str(tmp_path / "forty-two" / "environment"), 120)
    assert bench.image is not None
    assert bench.image.startswith("nodus-task:")
    assert (trial.image, trial.build) == (bench.image, bench.build)
    assert (trial.limits.seconds, trial.limits.cpus, trial.limits.memory_bytes, trial.limits.disk_bytes) == (30, 2, 2 << 30, 512 << 20)
    assert trial.root_files["/tests/test.sh"].executable
    assert set(trial.extra_folders) == {"/tests", "/logs", "/solution"}
    assert trial.network is False
    assert trial.reference is not None
    assert set(trial.reference.script_files) == {"solve.sh"}


def test_a_terminal_bench_task(tmp_path: Path) -> None:
    bench_task(tmp_path)
    (task,) = source_over(tmp_path, "terminal-bench").draw("test", 0, 1)
    assert (task.id, task.prompts) == ("forty-two", ("Write 42 to answer.txt.",))
    assert task.metadata == {"difficulty": "medium", "category": "maths", "tags": ["numbers"]}
    assert task.workbench is not None
    assert task.trial is not None
    assert (task.workbench.workdir, task.workbench.agent_seconds) == ("/app", 100)
    assert set(task.trial.root_files) == {"/tests/run-tests.sh", "/tests/test_outputs.py"}
    assert task.trial.environ == {"TEST_DIR": "/tests"}
    assert task.trial.limits.seconds == 20


def test_cards_hold_no_test_and_no_solution(tmp_path: Path) -> None:
    harbor_task(tmp_path, "one", tests__hidden="SECRET-TEST", solution__more="SECRET-SOLUTION")
    source = source_over(tmp_path, "harbor")
    shown = json.dumps(loaded(source, source.draw("test", 0, 1)))
    assert "SECRET" not in shown
    assert "the answer is 42" not in shown
    assert "SECRET" not in repr(source.draw("test", 0, 1))


def test_the_order_is_fixed_and_the_digest_covers_the_tests(tmp_path: Path) -> None:
    for name in "abcdef":
        harbor_task(tmp_path, name)
    first = source_over(tmp_path, "harbor")
    assert [task.id for task in first.draw("test", 3, 6)][:4] == [task.id for task in first.draw("test", 3, 4)]
    assert {tuple(task.id for task in first.draw("test", seed, 6)) for seed in range(5)} != {tuple("abcdef")}
    counts, whole = first.describe()
    assert counts == {"train": 0, "test": 6}
    assert source_over(tmp_path, "harbor").describe()[1] == whole
    (tmp_path / "a" / "tests" / "test.sh").write_text("#!/bin/sh\n")
    assert source_over(tmp_path, "harbor").describe()[1] != whole


def test_another_context_is_another_image_and_a_moved_one_is_not(tmp_path: Path) -> None:
    def image(root: Path) -> object:
        (task,) = source_over(root, "harbor").draw("test", 0, 1)
        return task.workbench and task.workbench.image

    harbor_task(tmp_path / "x", "t")
    harbor_task(tmp_path / "y", "t")
    harbor_task(tmp_path / "z", "t")
    (tmp_path / "z" / "t" / "environment" / "data.txt").write_text("other")
    assert image(tmp_path / "x") == image(tmp_path / "y") != image(tmp_path / "z")


def test_a_terminal_bench_image_does_not_depend_on_the_tests(tmp_path: Path) -> None:
    bench_task(tmp_path / "x", "t")
    bench_task(tmp_path / "y", "t", task=BENCH_YAML + "expert_time_estimate_min: 3\n")
    (tmp_path / "y" / "t" / "tests" / "test_outputs.py").write_text("def test_other(): pass\n")
    (first,), (second,) = (source_over(tmp_path / name, "terminal-bench").draw("test", 0, 1) for name in "xy")
    assert first.workbench is not None
    assert second.workbench is not None
    assert first.workbench.image == second.workbench.image
    assert first.fingerprint() != second.fingerprint()


def test_one_task_folder_alone(tmp_path: Path) -> None:
    harbor_task(tmp_path)
    assert source_over(tmp_path / "forty-two", "harbor").describe()[0] == {"train": 0, "test": 1}


def test_a_published_image_and_a_task_of_the_train_split(tmp_path: Path) -> None:
    toml = HARBOR_TOML.replace("[environment]", '[environment]\ndocker_image = "registry.example/task:1"\nworkdir = "/srv/work"')
    harbor_task(tmp_path, toml=toml.replace("[metadata]", '[metadata]\nsplit = "train"'))
    (task,) = source_over(tmp_path, "harbor").draw("train", 0, 1)
    assert task.workbench is not None
    assert (task.workbench.image, task.workbench.build, task.workbench.workdir) == ("registry.example/task:1", None, "/srv/work")


@pytest.mark.parametrize(
    ("dockerfile", "workdir"),
    [
        ("FROM a\n", "/app"),
        ("FROM a\nWORKDIR /x\nWORKDIR y/z\nWORKDIR ..\n", "/x/y"),
        ("FROM a AS build\nWORKDIR /build\nFROM b\nRUN true\n", "/app"),
        ("FROM a\nENV HOME=/home/me OTHER='x y'\nworkdir ${HOME}/work\n", "/home/me/work"),
        ("FROM a\nARG TOP=/top\nWORKDIR $TOP\n", "/top"),
        ("FROM a\nWORKDIR ${NONE:-/default}\n", "/default"),
        ("FROM a\n# WORKDIR /no\nRUN echo \\\n  # WORKDIR /no\n  WORKDIR /no\nWORKDIR \\\n  /yes\n", "/yes"),
        ("FROM a\nRUN <<EOF\nWORKDIR /no\nEOF\nWORKDIR /yes\n", "/yes"),
        ('FROM a\nWORKDIR "/with space"\n', "/with space"),
    ],
)
def test_the_work_folder_of_a_dockerfile(tmp_path: Path, dockerfile: str, workdir: str) -> None:
    harbor_task(tmp_path, environment__Dockerfile=dockerfile)
    (task,) = source_over(tmp_path, "harbor").draw("test", 0, 1)
    assert task.workbench is not None
    assert task.workbench.workdir == workdir


def faults(folder: Path, layout: str) -> str:
    """What is told of the folder's faults."""
    with pytest.raises(SourceError) as caught:
        source_over(folder, layout)
    return "\n".join([caught.value.sentence, *(text for _, text in caught.value.faults)])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ('[environment]\nos = "windows"', "Linux only"),
        ("[environment]\ngpus = 1", "accelerators"),
        ("[environment]\nenv = {A = '1'}", "ENV"),
        ('[environment]\nskills_dir = "/skills"', "skills_dir"),
        ('[environment]\nmcp_servers = [{name = "x"}]', "mcp_servers"),
        ('[environment]\nnetwork_mode = "allowlist"', "allowlist"),
        ('[environment.healthcheck]\ncommand = "true"', "healthcheck"),
        ('[verifier]\nuser = "root"', "never root"),
        ('[agent]\nuser = "dev"', "never root"),
        ('[verifier]\nenvironment_mode = "separate"', "environment of its own"),
        ('[verifier]\nenv = {KEY = "${OPENAI_API_KEY}"}', "OPENAI_API_KEY of this machine"),
        ('[[verifier.collect]]\ncommand = "x"', "verifier.collect"),
        ('[[steps]]\nname = "one"', "steps"),
        ("[agent]\ntimeout_sec = -1", "agent.timeout_sec"),
        ("[environment]\ncpus = 'many'", "environment.cpus"),
        ("[environment", "no valid TOML"),
    ],
)
def test_what_harbor_tasks_may_not_ask_for(tmp_path: Path, change: str, told: str) -> None:
    harbor_task(tmp_path, "bad", toml=change + "\n")
    assert "bad: task.toml" in (found := faults(tmp_path, "harbor"))
    assert told in found


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tests__test.sh": None}, "tests/test.sh is missing"),
        ({"instruction.md": None}, "instruction.md is missing"),
        ({"instruction.md": "# canary\n\n"}, "instruction.md is empty"),
        ({"environment__Dockerfile": None}, "Dockerfile is missing, and task.toml names no docker_image"),
        ({"environment__docker-compose.yaml": "services: {}"}, "compose file"),
        ({"environment__Dockerfile": "FROM a\nWORKDIR $WHERE\n"}, "WORKDIR uses WHERE"),
        ({"environment__Dockerfile": "FROM a\nWORKDIR /tests/x\n"}, "/tests/x"),
        ({"environment__Dockerfile": "FROM a\nWORKDIR /\n"}, "work folder / "),
        ({"trajectory.json": "{}"}, "trajectory.json"),
    ],
)
def test_what_harbor_folders_may_not_be(tmp_path: Path, files: dict[str, str | None], told: str) -> None:
    harbor_task(tmp_path, "bad", **files)
    assert told in faults(tmp_path, "harbor")


@pytest.mark.parametrize(
    ("task", "files", "told"),
    [
        ("instruction: x\nparser_name: swebench\n", {}, "parser_name swebench"),
        ("instruction: x\nrun_tests_in_same_shell: true\n", {}, "run_tests_in_same_shell"),
        ("difficulty: easy\n", {}, "instruction"),
        ("instruction: [\n", {}, "no valid YAML"),
        ("- x\n", {}, "task.yaml"),
        (BENCH_YAML, {"run-tests.sh": None}, "run-tests.sh is missing"),
        (BENCH_YAML, {"Dockerfile": None}, "Dockerfile is missing"),
        (BENCH_YAML, {"docker-compose.yaml": BENCH_COMPOSE + "  db:\n    image: postgres\n"}, "one client"),
        (BENCH_YAML, {"docker-compose.yaml": BENCH_COMPOSE + "    privileged: true\n    ports: ['80:80']\n"}, "client's ports, privileged"),
        (BENCH_YAML, {"docker-compose.yaml": BENCH_COMPOSE.replace("- TEST_DIR", "- TOKEN=x\n      - TEST_DIR")}, "TOKEN"),
        (BENCH_YAML, {"docker-compose.yaml": BENCH_COMPOSE.replace("dockerfile: Dockerfile", "context: ..")}, "something else"),
        (BENCH_YAML, {"Dockerfile": "FROM a\nCOPY . /app\n"}, "may take tests or solution"),
        (BENCH_YAML, {"Dockerfile": 'FROM a\nCOPY ["tests/x.py", "/app/"]\n'}, "may take tests or solution"),
        (BENCH_YAML, {"Dockerfile": "FROM a\nADD --chown=1:1 ./solution.sh x* /app/\n"}, "may take tests or solution"),
        (BENCH_YAML, {"tests__run-tests.sh": "x"}, "of its own"),
    ],
)
def test_what_terminal_bench_tasks_may_not_be(tmp_path: Path, task: str, files: dict[str, str | None], told: str) -> None:
    bench_task(tmp_path, "bad", task, **files)
    assert told in faults(tmp_path, "terminal-bench")


def test_every_fault_of_every_task_at_once(tmp_path: Path) -> None:
    harbor_task(tmp_path, "a", toml='[environment]\nos = "windows"\ngpus = 2\n')
    harbor_task(tmp_path, "b")
    harbor_task(tmp_path, "c", **{"tests__test.sh": None})
    found = faults(tmp_path, "harbor")
    assert "3 faults" in found
    assert "spec.exclude" in found
    assert "\na: " in found
    assert "\nc: " in found
    assert source_over(tmp_path, "harbor", exclude=["a", "c"]).describe()[0] == {"train": 0, "test": 1}


def test_links_are_refused_in_tests_and_solutions(tmp_path: Path) -> None:
    task = harbor_task(tmp_path)
    (task / "tests" / "link").symlink_to("/etc/passwd")
    assert "tests/link is a link" in faults(tmp_path, "harbor")


@pytest.mark.parametrize("layout", ["harbor", "terminal-bench"])
def test_folders_without_tasks(tmp_path: Path, layout: str) -> None:
    assert "no task folders" in faults(tmp_path, layout)
    assert "does not exist" in faults(tmp_path / "nowhere", layout)
    (harbor_task if layout == "harbor" else bench_task)(tmp_path)
    with pytest.raises(SourceError, match="no task folder is called so"):
        source_over(tmp_path, layout, exclude=["unknown"])
    with pytest.raises(SourceError, match="has 1 tasks and 2"):
        source_over(tmp_path, layout).draw("test", 0, 2)


async def test_the_grader_process_tells_counts_and_faults(tmp_path: Path) -> None:
    harbor_task(tmp_path)
    resolved = own_environment(environment_over(tmp_path, "harbor"))
    assert (await check(resolved)).tasks == {"train": 0, "test": 1}
    harbor_task(tmp_path, "bad", toml='[environment]\nos = "windows"\n')
    with pytest.raises(NodusError) as caught:
        await check(resolved)
    assert "Linux only" in "\n".join(fault.message for fault in caught.value.faults)


def test_results_say_that_such_graders_are_weaker(tmp_path: Path) -> None:
    harbor_task(tmp_path)
    plain = own_environment(environment_over(tmp_path, "harbor")).options["weakerGrader"]
    reaching = own_environment(environment_over(tmp_path, "harbor", testsNetwork=True)).options["weakerGrader"]
    assert isinstance(plain, str)
    assert isinstance(reaching, str)
    assert "same user" in plain
    assert "network" in reaching.removeprefix(plain)
    (task,) = source_over(tmp_path, "harbor", testsNetwork=True).draw("test", 0, 1)
    assert task.trial is not None
    assert task.trial.network


@pytest.mark.parametrize("more", [{"exclude": ["a"]}, {"testsNetwork": True}])
def test_settings_of_task_folders_need_one(more: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="is for task folders"):
        EnvironmentSpec.model_validate({"version": "1", "file": "t.jsonl", "grader": {"type": "exact"}, **more})
