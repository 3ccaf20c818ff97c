"""TrainingJobs over a STAND-IN for the harness, whichever way the backend is reached; and what is not launched from afar."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from training_place import TrainingPlace, output, stand_in_python, until
from ways import WAYS, Authority, Reached, reached

from nodus_tui.contract.actions import ExtendCap, Kill, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def place(tmp_path: Path) -> TrainingPlace:
    return TrainingPlace(tmp_path, stand_in_python(tmp_path))


@pytest.fixture(params=WAYS)
async def there(request: pytest.FixtureRequest, place: TrainingPlace, authority: Authority) -> AsyncIterator[Reached]:
    settings = f"jobs: {{stopGrace: 2s}}\nevaluate: {{python: {json.dumps(str(place.python))}}}\n"
    async with reached(request.param, place.folder, authority, settings) as found:
        yield found


async def test_a_training_job_is_told_and_acted_on_alike_everywhere(there: Reached, place: TrainingPlace) -> None:
    place.sums()
    place.behave(hold=str(place.folder / "go"), hold_after=5)
    await there.local.apply(place.benchmark("sums"))
    await until(there.backend, lambda status: status.progress is not None and status.progress > 0)
    killed = await there.backend.act(Kill(kind="TrainingJob", name="score", author="somebody"))
    assert (killed.changed, killed.author) == (True, there.author)
    assert (await until(there.backend)).reason == "Killed"
    raised = await there.backend.act(ExtendCap(kind="TrainingJob", name="score", cap_usd=Decimal(200)))
    assert raised.changed
    place.behave()
    again = await there.backend.act(RetryJob(kind="TrainingJob", name="score"))
    assert (again.kind, again.name, again.changed) == ("TrainingJob", "score", True)
    status = await until(there.backend, lambda status: status.ended and status.attempt == 2)
    assert (status.phase, status.cap_usd, status.scores[0].samples) == ("Succeeded", Decimal(200), 20)
    assert (await output(there.backend, "results.json"))["complete"] is True
    assert await there.backend.get("TrainingJob", "score") == await there.local.get("TrainingJob", "score")
    assert (await there.backend.list("TrainingJob")).items == (await there.local.list("TrainingJob")).items
    assert (await there.backend.snapshot()).training_jobs == (await there.local.snapshot()).training_jobs
    with pytest.raises(NodusError) as refused:
        await there.backend.act(RetryJob(kind="TrainingJob", name="score"))
    assert refused.value.code is ErrorCode.INVALID_ACTION


@pytest.mark.parametrize("there", ["TCP with TLS"], indirect=True)
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, "spec.model.uri"),
        ({"model": {"uri": f"hf://own/model@{'0' * 40}"}, "includePaths": ["/etc"]}, "spec.includePaths"),
    ],
)
async def test_files_of_the_servers_own_machine_are_not_scored_from_afar(
    there: Reached, place: TrainingPlace, spec: dict[str, Any], path: str
) -> None:
    with pytest.raises(NodusError) as refused:
        await there.backend.apply(place.bundle(place.document(parameters={"tasks": ["sums"]}, **spec)))
    assert [fault.path for fault in refused.value.faults] == [path]
    assert not (await there.local.list("TrainingJob")).items
