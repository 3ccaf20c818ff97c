"""The results of a TrainingJob, as clients ask for them: its results.json where it has left one."""

import json
from typing import Any

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.training_job import TrainingJob

RESULTS_PATH = "outputs/results.json"


def has_results(job: TrainingJob) -> bool:
    """Whether it has ended and left a results.json."""
    status = job.status
    return status is not None and status.ended and any(each.path == RESULTS_PATH for each in status.outputs)


async def training_document(backend: Backend, job: TrainingJob) -> dict[str, Any]:
    """Its results.json; of a job that has none (yet) what its status says, in the same form. Raises NodusError."""
    if not has_results(job):
        return {"job": job.name, "complete": False, "model": job.spec.model.uri, "scores": []}
    pieces = [piece async for piece in backend.read_job_file(job.name, RESULTS_PATH)]
    try:
        document: dict[str, Any] = json.loads(b"".join(pieces))
    except ValueError:
        raise NodusError(ErrorCode.UNAVAILABLE, f"{RESULTS_PATH} of {job.name} is no JSON") from None
    return document
