"""The scheduler looked into, and the tasks of environments, whichever way the backend is reached."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from ways import Reached, bundle_of, spec

from nodus_tui.contract.errors import ErrorCode, NodusError

ARITHMETIC = "nodus/arithmetic-v2@2.0.0"

pytestmark = pytest.mark.timeout(60)


async def test_who_works_is_told_with_how_well_and_with_the_log(there: Reached) -> None:
    home = Path((await there.local.info()).workspace)
    log = home / "logs" / "scheduler.log"
    missing = (await there.backend.scheduler_view()).log
    assert (missing.text, missing.size) == ("", 0)
    assert "there is no log" in missing.problem
    log.parent.mkdir()
    log.write_bytes(b"2026-01-01 INFO first\nsecond \xff\x1b[2J\nhalf of")
    await there.backend.apply(spec(tasks=1))
    view = await there.backend.scheduler_view()
    assert view.log.text == "2026-01-01 INFO first\nsecond \N{REPLACEMENT CHARACTER}\x1b[2J\n"
    assert view.log.next_offset == log.stat().st_size - len("half of")
    assert view.facts.pid == os.getpid()
    assert view.facts.last_event > 0
    assert view.facts.started_at is not None
    assert view.facts.store_bytes
    assert view.facts.free_disk_bytes
    assert view.facts.clients == (None if there.way == "in process" else 0)
    assert (await there.backend.scheduler_view(after=22, limit=4)).log.text == "seco"
    while (lag := (await there.backend.scheduler_view()).facts.loop_lag) is None:
        await asyncio.sleep(0.05)
    assert 0 <= lag.median_ms <= lag.p99_ms <= lag.most_ms


async def test_a_log_that_began_anew_is_given_from_its_beginning(there: Reached) -> None:
    log = Path((await there.local.info()).workspace) / "logs" / "scheduler.log"
    log.parent.mkdir()
    log.write_bytes(b"new\n")
    piece = (await there.backend.scheduler_view(after=4_000_000)).log
    assert (piece.offset, piece.text) == (0, "new\n")
    assert (await there.backend.scheduler_view(after=4)).log.text == ""
    log.write_bytes(b"a long line before\nlast\n")
    assert (await there.backend.scheduler_view(after=-8)).log.text == "last\n"


async def test_tasks_come_in_pages_in_the_order_of_the_seed_and_without_answers(there: Reached) -> None:
    first = await there.backend.environment_tasks(ARITHMETIC, split="test", seed=7, limit=3)
    then = await there.backend.environment_tasks(ARITHMETIC, split="test", seed=7, after=3, limit=2)
    whole = await there.backend.environment_tasks("nodus/arithmetic-v2", split="test", seed=7, limit=5)
    assert (*first.tasks, *then.tasks) == whole.tasks
    assert (whole.total, whole.more, len(whole.tasks)) == (None, True, 5)
    assert all(task.prompts[0] for task in whole.tasks)
    assert set(whole.tasks[0].to_document()) == {"id", "prompts", "files", "image"}


async def test_the_tasks_of_a_file_end_and_are_read_without_their_answers(there: Reached, tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "prompt": f"What is {n} + {n}?", "answer": f"secret-{n}", "solution": f"secret-{n}"} for n in range(3)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    environment = {"version": "1", "file": str(tmp_path / "tasks.jsonl"), "grader": {"type": "exact"}}
    document = {"apiVersion": "nodus.dev/v1", "kind": "Environment", "metadata": {"name": "sums"}, "spec": environment}
    await there.local.apply(bundle_of(json.dumps(document)))
    page = await there.backend.environment_tasks("sums@1", limit=2)
    assert (page.total, page.more, len(page.tasks)) == (3, True, 2)
    last = await there.backend.environment_tasks("sums@1", after=2)
    assert (len(last.tasks), last.more) == (1, False)
    assert "secret" not in (page.model_dump_json() + last.model_dump_json())
    beyond = await there.backend.environment_tasks("sums@1", after=10)
    assert (beyond.tasks, beyond.more) == ((), False)


@pytest.mark.parametrize("reference", ["none@1.0.0", "nodus/arithmetic-v2@9.9.9", "a b?c=d&e#f@1"])
async def test_an_environment_that_is_not_there_has_no_tasks(there: Reached, reference: str) -> None:
    with pytest.raises(NodusError) as caught:
        await there.backend.environment_tasks(reference)
    assert caught.value.code is ErrorCode.NOT_FOUND


async def test_the_last_gold_check_that_came_to_its_end_is_kept(there: Reached) -> None:
    assert (await there.backend.info()).gold_checks == ()
    async for _ in there.backend.check_environment(ARITHMETIC, split="test", tasks=2):
        pass
    (kept,) = (await there.backend.info()).gold_checks
    assert (kept.environment, kept.split, kept.limit, kept.tasks, kept.problems, kept.faults) == (ARITHMETIC, "test", 2, 2, 0, ())
