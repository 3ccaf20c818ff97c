"""Jobs, whichever way the backend is reached: what they write, what is kept of them, how they end; and that none is launched from afar."""

import asyncio
import json
from typing import Any

import pytest
from ways import Reached, bundle_of

from nodus_tui.contract.actions import Delete, Kill
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.job import Job, JobStatus

pytestmark = pytest.mark.timeout(60)


def job_text(command: str, **spec: Any) -> str:
    document = {"apiVersion": "nodus.dev/v1", "kind": "Job", "metadata": {"name": "work"}}
    return json.dumps({**document, "spec": {"command": ["/bin/sh", "-c", command], "maxCostUSD": "0.10", "network": True, **spec}})


async def ended(backend: Backend) -> JobStatus:
    while True:
        found = await backend.get("Job", "work")
        assert isinstance(found, Job)
        assert found.status is not None
        if found.status.ended:
            return found.status
        await asyncio.sleep(0.05)


async def test_a_job_is_told_alike_everywhere(there: Reached) -> None:
    bundle = bundle_of(job_text("printf '\\033[2J\\377hello'; mkdir 'a b'; printf x > 'a b/c?d&e#f'", outputs=["a b"]))
    await there.local.apply(bundle)
    status = await ended(there.backend)
    assert status.phase == "Succeeded"
    log = await there.backend.job_log("work", wait_seconds=5)
    assert (log.text, log.size, log.ended) == ("\x1b[2J\N{REPLACEMENT CHARACTER}hello", 10, True)
    assert (await there.backend.job_log("work", after=-5)).text == "hello"
    assert await there.backend.job_files("work") == await there.local.job_files("work")
    assert b"".join([piece async for piece in there.backend.read_job_file("work", "a b/c?d&e#f")]) == b"x"
    assert await there.backend.get("Job", "work") == await there.local.get("Job", "work")
    assert (await there.backend.list("Job")).items == (await there.local.list("Job")).items
    assert (await there.backend.snapshot()).jobs == (await there.local.snapshot()).jobs
    with pytest.raises(NodusError) as missing:
        [piece async for piece in there.backend.read_job_file("work", "../report.json")]
    assert missing.value.code is ErrorCode.NOT_FOUND
    await there.backend.act(Delete(kind="Job", name="work"))
    for call in (there.backend.get("Job", "work"), there.backend.job_log("work"), there.backend.job_files("work")):
        with pytest.raises(NodusError) as gone:
            await call
        assert gone.value.code is ErrorCode.NOT_FOUND


async def test_a_job_is_killed_from_everywhere(there: Reached) -> None:
    await there.local.apply(bundle_of(job_text("echo up; sleep 300")))
    assert (await there.backend.job_log("work", wait_seconds=10)).text == "up\n"
    outcome = await there.backend.act(Kill(kind="Job", name="work", author="somebody"))
    assert (outcome.changed, outcome.author) == (True, there.author)
    assert (await ended(there.backend)).reason == "Killed"


async def test_a_command_on_the_servers_own_machine_is_launched_on_that_machine_only(there: Reached) -> None:
    if there.way != "TCP with TLS":
        outcome = await there.backend.apply(bundle_of(job_text("true", envFrom=["PATH"])))
        assert outcome.documents[0].outcome == "created"
        await ended(there.backend)
        return
    for text, path in (
        (job_text("true"), "spec.command"),
        (job_text("true", image="alpine", mounts=[{"source": "/etc", "target": "/etc"}]), "spec.mounts"),
        (job_text("true", image="alpine", envFrom=["ANTHROPIC_API_KEY"]), "spec.envFrom"),
        (job_text("true", image="alpine", serve={"family": "f", "port": 80, "apiKeyEnv": "ANTHROPIC_API_KEY"}), "spec.serve.apiKeyEnv"),
    ):
        with pytest.raises(NodusError) as refused:
            await there.backend.apply(bundle_of(text))
        assert [fault.path for fault in refused.value.faults] == [path]
    assert not (await there.local.list("Job")).items
