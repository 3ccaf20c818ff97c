"""The examples of jobs: each is valid, and the small one runs."""

from pathlib import Path

import pytest
from job_place import until, workspace

from local_backend.jobs.launching import unsupported
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_one_that_runs_here(path: Path) -> None:
    (document,) = load_specs([SpecSource(str(path), path.read_bytes(), path.parent)])
    assert isinstance(document.resource, Job)
    assert unsupported(document.resource.spec) == ""


async def test_the_small_one_keeps_what_it_found(tmp_path: Path) -> None:
    path = EXAMPLES / "hello.yaml"
    async with workspace(tmp_path, "") as backend:
        await backend.apply(load_specs([SpecSource(str(path), path.read_bytes(), path.parent)]))
        status = await until(backend, name="hello-job")
        assert (status.phase, [each.path for each in status.outputs]) == ("Succeeded", ["primes.txt"])
        assert b"".join([piece async for piece in backend.read_job_file("hello-job", "primes.txt")]).split()[-1] == b"293"
