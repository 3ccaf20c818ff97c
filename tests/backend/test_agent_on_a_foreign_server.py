"""An agent solves a code task from spec to hidden tests: its model on a server that others wrote, its sandboxes real."""

import json
from pathlib import Path

import pytest
from agents_at_work import content, launch, nothing_left, worker
from engine_place import Place, at_rest, environment, group, run_status
from model_servers import aimock

from nodus_tui.contract.phases import Verdict

pytestmark = pytest.mark.timeout(90)

USAGE = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
TASKS = [
    {
        "id": name,
        "prompt": f"{name}: write twice(number) in solution.py",
        "tests": {"test_twice.py": "def test_twice(solution):\n    assert [solution.twice(n) for n in (0, 2, -3)] == [0, 4, -6]\n"},
        "solution": {"solution.py": "def twice(number):\n    return 2 * number\n"},
    }
    for name in ("right", "wrong")
]


def solves(task: str, body: str) -> list[dict[str, object]]:
    """What the server says for one task: a file is written and tried, then the answer is handed in. Later steps come first."""
    written = {"path": "solution.py", "content": f"def twice(number):\n    return {body}\n"}
    tried = {"command": "python3 -c 'import solution; print(solution.twice(2))'"}
    calls = [{"id": "w", "name": "write", "arguments": written}, {"id": "t", "name": "bash", "arguments": tried}]
    submit = [{"id": "s", "name": "submit", "arguments": {"answer": "done"}}]
    return [
        {"match": {"userMessage": task, "hasToolResult": True}, "response": {"usage": USAGE, "toolCalls": submit}},
        {"match": {"userMessage": task, "hasToolResult": False}, "response": {"usage": USAGE, "toolCalls": calls}},
    ]


async def test_an_agent_solves_a_code_task_on_a_server_that_others_wrote(tmp_path: Path) -> None:
    fixtures = tmp_path / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": [*solves("right", "number + number"), *solves("wrong", "number * number")]}))
    with aimock(fixtures) as root:
        place = Place(tmp_path, f"{root}/v1")
        place.tasks(TASKS)
        async with place.backend() as backend:
            await launch(place, backend, environment({"type": "pytest"}), worker(), group(tasks=2))
            found = await at_rest(backend)
            results = await backend.results("campaign")
            run = next(item.run for item in results.results if item.task_id == "right")
            told = await run_status(backend, run)
            made = await content(backend, run, "solution.py")
            assert await nothing_left(backend)
    assert {item.task_id: item.verdict for item in results.results} == {"right": Verdict.CORRECT, "wrong": Verdict.INCORRECT}
    assert found.money.model_usd > 0
    assert told.turns == 2
    assert b"number + number" in made
