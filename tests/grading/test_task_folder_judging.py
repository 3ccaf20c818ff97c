"""Task folders judged by a real engine: images built from their Dockerfiles, references that pass, answers that do not."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from folder_images import EXAMPLES, archive_of, docker_bench, on_base, tasks_of
from grading_places import Bench

from local_backend.environments.secret_tasks import Judgement, SecretTask
from nodus_tui.contract.phases import Verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "environments"))

from task_folder_builders import bench_task, harbor_task  # A neighbour's builders.

FAILED = Verdict.INFRASTRUCTURE_FAILURE


@pytest.fixture
async def place() -> AsyncIterator[Bench]:
    async with docker_bench() as made:
        yield made


async def judged(
    place: Bench, task: SecretTask, files: dict[str, str] | None = None, *, tmp_path: Path | None = None, use: str = "answer"
) -> Judgement:
    archive = None if files is None or tmp_path is None else archive_of(files, tmp_path / "answer.tar")
    return (await place.judge.judge(task, "", archive, use=use)).judgement  # type: ignore[arg-type]  # One of its three words.


async def test_the_example_in_harbor_layout(place: Bench, tmp_path: Path) -> None:
    tasks = tasks_of(await on_base(place, EXAMPLES / "tasks-harbor", tmp_path / "tasks"), "harbor")
    assert set(tasks) == {"count-lines", "fix-mean"}
    for task in tasks.values():
        assert (await judged(place, task, use="reference")).verdict is Verdict.CORRECT
    empty = await judged(place, tasks["count-lines"], use="empty")
    assert (empty.verdict, empty.reward) == (Verdict.INCORRECT, 0)
    # What the image brings is right in three of six cases.
    untouched = await judged(place, tasks["fix-mean"], use="empty")
    assert untouched.verdict is Verdict.INCORRECT
    assert untouched.reward == pytest.approx(0.5)


async def test_what_an_agent_left_takes_the_place_of_the_images_files(place: Bench, tmp_path: Path) -> None:
    tasks = tasks_of(await on_base(place, EXAMPLES / "tasks-harbor", tmp_path / "tasks"), "harbor")
    right = await judged(place, tasks["count-lines"], {"count.txt": "4\n"}, tmp_path=tmp_path)
    wrong = await judged(place, tasks["count-lines"], {"count.txt": "5\n"}, tmp_path=tmp_path)
    gone = await judged(place, tasks["fix-mean"], {"other.py": ""}, tmp_path=tmp_path)
    assert (right.verdict, wrong.verdict) == (Verdict.CORRECT, Verdict.INCORRECT)
    assert (gone.verdict, gone.reward) == (Verdict.INCORRECT, 0)
    assert (await judged(place, tasks["fix-mean"])).verdict is Verdict.INVALID_OUTPUT


async def test_terminal_bench_layout(place: Bench, tmp_path: Path) -> None:
    bench_task(tmp_path / "given")
    (task,) = tasks_of(await on_base(place, tmp_path / "given", tmp_path / "tasks"), "terminal-bench").values()
    assert (await judged(place, task, use="reference")).verdict is Verdict.CORRECT
    empty = await judged(place, task, use="empty")
    assert (empty.verdict, empty.reward, empty.message) == (Verdict.INCORRECT, 0, "0 of 1 tests passed")
    assert (await judged(place, task, {"answer.txt": "42"}, tmp_path=tmp_path)).verdict is Verdict.CORRECT


PROBE = """#!/bin/bash
{
  echo "user $(id -u)"; echo "folder $PWD"; echo "input $(cat | wc -c)"
  echo "kept $(touch /tests/test.sh /tests/new 2>/dev/null && rm -f /tests/test.sh 2>/dev/null; ls /tests | tr '\\n' ' ')"
  echo "network $(ls /sys/class/net | tr '\\n' ' ')"; echo "grader $(ls /grader 2>&1 | wc -l)"; echo "variable $WORD"
  cat /tests/more/data.txt
} > /logs/verifier/told
grep -q "user 1000" /logs/verifier/told && grep -q "folder /app" /logs/verifier/told && grep -q "input 0" /logs/verifier/told &&
  grep -q "test.sh" /logs/verifier/told && grep -q "network lo" /logs/verifier/told && grep -q "variable a b" /logs/verifier/told &&
  grep -q "^data" /logs/verifier/told && test ! -r /grader && echo 1 > /logs/verifier/reward.txt
"""


async def test_how_tests_run(place: Bench, tmp_path: Path) -> None:
    toml = '[verifier]\ntimeout_sec = 30\n[verifier.env]\nWORD = "${NOBODY:-a b}"\n'
    harbor_task(tmp_path / "given", "probe", toml, **{"tests__test.sh": PROBE, "tests__more__data.txt": "data\n"})
    (task,) = tasks_of(await on_base(place, tmp_path / "given", tmp_path / "tasks"), "harbor").values()
    found = await judged(place, task, use="empty")
    assert found.verdict is Verdict.CORRECT, found.message


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("#!/bin/bash\nexit 0\n", "wrote no reward"),
        ("#!/bin/bash\necho maybe > /logs/verifier/reward.txt\n", "no number"),
        ("#!/bin/bash\nln -s /proc/1/environ /logs/verifier/reward.txt\n", "no"),
        ("#!/bin/bash\nsleep 60\n", "did not finish within 2 seconds"),
        ("#!/no/such/shell\n", "wrote no reward"),
    ],
)
async def test_tests_that_fail_themselves_give_no_verdict(place: Bench, tmp_path: Path, script: str, told: str) -> None:
    harbor_task(tmp_path / "given", "broken", "[verifier]\ntimeout_sec = 2\n", **{"tests__test.sh": script})
    (task,) = tasks_of(await on_base(place, tmp_path / "given", tmp_path / "tasks"), "harbor").values()
    found = await judged(place, task, use="empty")
    assert found.verdict is FAILED
    assert told in found.message


async def test_a_reward_that_a_solution_leaves_does_not_count(place: Bench, tmp_path: Path) -> None:
    files = {"solution__solve.sh": "#!/bin/bash\nmkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt\nexit 3\n"}
    harbor_task(tmp_path / "given", "forger", **files)
    (task,) = tasks_of(await on_base(place, tmp_path / "given", tmp_path / "tasks"), "harbor").values()
    assert (await judged(place, task, use="reference")).verdict is Verdict.INCORRECT


async def test_an_image_that_cannot_be_built_is_no_verdict(place: Bench, tmp_path: Path) -> None:
    harbor_task(tmp_path / "given", "unbuildable", environment__Dockerfile="FROM x\nCOPY nothing /app/\n")
    (task,) = tasks_of(await on_base(place, tmp_path / "given", tmp_path / "tasks"), "harbor").values()
    found = await judged(place, task, use="empty")
    assert found.verdict is FAILED
    assert "could not be built" in found.message
