"""An Environment's held-out tasks, answered through the harness (a STAND-IN) and graded by our own graders: and no answer leaks."""

import json
from typing import Any

import pytest
from training_place import TrainingPlace, log_of, output, training_job, until

from nodus_tui.contract.actions import Kill, RetryJob
from nodus_tui.contract.errors import NodusError

pytestmark = pytest.mark.timeout(60)

SECRET = "xyzzy-plugh"
"""The expected answer of every task but one."""


def environment(place: TrainingPlace, tasks: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """An Environment over a task file of this folder."""
    (place.folder / "held.jsonl").write_text("".join(json.dumps(each) + "\n" for each in tasks), encoding="utf-8")
    whole = {"version": "1.0.0", "file": "held.jsonl", "grader": {"type": "exact", "answerPattern": "Answer: (.*)"}, **spec}
    return {"apiVersion": "nodus.dev/v1", "kind": "Environment", "metadata": {"name": "held"}, "spec": whole}


def questions(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{n}",
            "prompt": f"Question {n} {{{{ n }}}}",
            "answer": SECRET,
            "metadata": {"level": n % 2, "hard": n % 3 == 0},
            "split": "test",
        }
        for n in range(count)
    ]


async def test_its_prompts_are_answered_and_graded_and_no_answer_reaches_the_harness(place: TrainingPlace) -> None:
    tasks = [*questions(8), {"id": "shown", "prompt": "Never asked", "answer": "1", "split": "train"}]
    place.behave(
        answers={
            "Question 2 {{ n }}": f"Answer: {SECRET}",
            "Question 4 {{ n }}": "Answer: something else",
            "Question 6 {{ n }}": "no such line",
        }
    )
    (place.model / "chat_template.jinja").write_text("{{ messages }}")
    parameters = {"taskFilter": {"level": 0}, "limit": 3, "seed": 5, "evaluationBatchSize": 2, "maxCompletionLength": 32}
    async with place.backend() as backend:
        spec = place.document(environment="held@1.0.0", parameters=parameters)
        await backend.apply(place.bundle(environment(place, tasks), spec))
        status = await until(backend)
        assert status.phase == "Succeeded", await log_of(backend)
        results = await output(backend, "results.json")
        found = results["environment"]
        verdicts = {each["taskId"]: each["verdict"] for each in found["results"]}
        assert set(verdicts) <= {"q0", "q2", "q4", "q6"}
        assert len(verdicts) == 3
        expected = {"q0": "Incorrect", "q2": "Correct", "q4": "Incorrect", "q6": "InvalidOutput"}
        assert verdicts == {task: expected[task] for task in verdicts}
        # The harness's own table has a figure that stands for no score: what the graders found is told in its place.
        log = await log_of(backend)
        assert ("bypass" in log, "|environment|" in log) == (False, False)
        assert "held@1.0.0: coverage 1.0000 over 3 tasks" in log
        assert found["passRate"] == pytest.approx(sum(each == "Correct" for each in verdicts.values()) / 3)
        assert found["coverage"] == {"scored": 3, "total": 3, "worst": found["passRate"], "best": found["passRate"]}
        assert (found["split"], found["seed"], found["digest"][:7]) == ("test", 5, "sha256:")
        by_metric = {each.metric: each for each in status.scores}
        assert {each.task for each in status.scores} == {"held@1.0.0"}
        assert (by_metric["passRate"].value, by_metric["passRate"].samples, by_metric["coverage"].value) == (found["passRate"], 3, 1.0)
        given = (await output(backend, "harness/results_now.json"))["seen"]["arguments"]
        assert (given["tasks"], given["batch_size"], given["predict_only"], given["limit"]) == (["environment"], 2, True, None)
        assert given["apply_chat_template"]
        asked = json.loads((place.folder / "home" / "jobs" / "score" / "work" / "prompts" / "environment.yaml").read_text())
        assert asked["generation_kwargs"] == {"until": [], "do_sample": False, "max_gen_toks": 32}
        # The answer that the model gave itself is no secret; where it is not given, nothing of the job has it.
        secret = [
            path
            for path in (place.folder / "home").rglob("*")
            if path.is_file() and SECRET.encode() in path.read_bytes() and "harness" not in path.parts
        ]
        assert not [path for path in secret if "q2" not in path.read_text(errors="replace")]
        assert SECRET not in await log_of(backend)
        provenance = await output(backend, "provenance.json")
        assert provenance["environment"] == {
            "name": "held", "version": "1.0.0", "source": "file", "split": "test", "seed": 5, "digest": found["digest"]
        }  # fmt: skip
        assert provenance["chatTemplate"] is True


async def test_a_filter_that_fits_no_task_and_conversations_are_told(place: TrainingPlace) -> None:
    tasks = [{"id": "talk", "prompt": ["One", "Two"], "answer": "1", "metadata": {"kind": "talk"}}]
    async with place.backend() as backend:
        held = environment(place, tasks)
        await backend.apply(place.bundle(held, place.document(environment="held@1.0.0", parameters={"taskFilter": {"kind": "none"}})))
        assert "fits the taskFilter" in (await until(backend)).message
        await backend.apply(place.bundle(place.document("second", environment="held@1.0.0")))
        assert "is a conversation of 2 prompts" in (await until(backend, name="second")).message


async def test_a_retry_over_other_tasks_than_before_is_refused(place: TrainingPlace) -> None:
    place.behave(hold_after=2, hold=str(place.folder / "go"))
    async with place.backend() as backend:
        await backend.apply(place.bundle(environment(place, questions(6)), place.document(environment="held@1.0.0")))
        await until(backend, lambda status: (status.progress or 0) > 0.3)
        await backend.act(Kill(kind="TrainingJob", name="score"))
        await until(backend)
        environment(place, [{**each, "answer": "another"} for each in questions(6)])
        (place.folder / "go").touch()
        await backend.act(RetryJob(kind="TrainingJob", name="score"))
        status = await until(backend)
        assert "held.jsonl or its grader changed" in status.message


async def test_tasks_that_are_folders_for_agents_are_refused(place: TrainingPlace) -> None:
    folder = place.folder / "folders" / "one"
    (folder / "tests").mkdir(parents=True)
    (folder / "environment").mkdir()
    (folder / "instruction.md").write_text("Do it.")
    (folder / "task.toml").write_text('version = "1.0"\n')
    (folder / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (folder / "tests" / "test.sh").write_text("#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n")
    held = {"apiVersion": "nodus.dev/v1", "kind": "Environment", "metadata": {"name": "held"}}
    document = {**held, "spec": {"version": "1.0.0", "folder": "folders", "layout": "harbor"}}
    async with place.backend(role="look") as backend:
        with pytest.raises(NodusError) as met:
            await backend.apply(place.bundle(document, place.document(environment="held@1.0.0")))
        assert "score it with an AgentGroup" in met.value.faults[0].message


async def test_where_nothing_can_be_graded_in_a_sandbox_it_is_refused(place: TrainingPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODUS_SANDBOX_ENGINE", "docker")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place.folder}/none.sock")
    async with place.backend(role="look") as backend:
        with pytest.raises(NodusError, match="no sandbox can be made here, and score needs some"):
            await backend.apply(place.bundle(place.document(environment="nodus/code-v1@1.0.0")))
        assert not (await backend.list("TrainingJob")).items


async def test_an_environment_of_code_is_graded_by_running_it(place: TrainingPlace) -> None:
    """Hidden tests in sandboxes, by the engine that is here: the last block of a reply becomes the solution."""
    async with place.backend() as backend:
        fact = (await backend.info(probe=True)).sandbox
        if fact is None or fact.isolation != "full":
            pytest.skip("no engine with full isolation here")
        tasks = [
            {
                "id": name,
                "prompt": f"{name}: write twice(number)",
                "tests": {"test_twice.py": "def test_twice(solution):\n    assert solution.twice(3) == 6\n"},
                "solution": {"solution.py": "def twice(number):\n    return 2 * number\n"},
            }
            for name in ("right", "wrong")
        ]
        place.behave(
            answers={
                f"{name}: write twice(number)": f"```python\ndef twice(number):\n    return {body}\n```"
                for name, body in (("right", "number + number"), ("wrong", "0"))
            }
        )
        by_files = environment(place, tasks, grader={"type": "pytest"})
        with pytest.raises(NodusError) as met:
            await backend.apply(place.bundle(by_files, place.document(environment="held@1.0.0")))
        assert "judges files that an agent with tools leaves" in met.value.faults[0].message
        held = environment(place, tasks, grader={"type": "pytest", "solution": "completion"})
        await backend.apply(place.bundle(held, place.document(environment="held@1.0.0")))
        status = await until(backend)
        assert status.phase == "Succeeded", await log_of(backend)
        found = (await output(backend, "results.json"))["environment"]
        assert {each["taskId"]: each["verdict"] for each in found["results"]} == {"right": "Correct", "wrong": "Incorrect"}
        job, _ = await training_job(backend)
        assert job.status is not None
        assert not [each for each in await backend.sandboxes() if each.mine]
