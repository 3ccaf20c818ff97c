"""The files that agents left: whether they are there as the books say, and how a run's successor comes by them."""

import asyncio

from local_backend.episodes.metering import GroupBooks
from local_backend.episodes.workplace import FILES_GONE
from local_backend.scheduling.cases import next_attempt, run_name
from local_backend.storage.artifacts import Artifacts
from local_backend.storage.records import RunRecord
from nodus_tui.contract.errors import ErrorCode, NodusError


class RunFiles:
    """The kept files of one group's runs."""

    def __init__(self, artifacts: Artifacts, books: GroupBooks) -> None:
        self._artifacts = artifacts
        self._books = books

    def there(self, run: RunRecord) -> bool:
        """Whether the agent's files lie there where the books say so, which are put right if not; true for a run that has none."""
        if run.sandbox is None or not run.sandbox.kept or self._artifacts.has(run.name):
            return True
        run.sandbox.kept, run.sandbox.not_kept = False, FILES_GONE
        return False

    async def hand_on(self, run: RunRecord) -> None:
        """Give the agent's files to the run that will follow this one. Raises NodusError where the disk refuses it."""
        if run.sandbox is None or not run.sandbox.kept:
            return
        successor = run_name(run.group_name, run.case_index, next_attempt(self._books, run))
        try:
            await asyncio.to_thread(self._artifacts.hand_on, run.name, successor)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise NodusError(ErrorCode.UNAVAILABLE, f"the files of {run.name} cannot be given to its successor: {why}") from error
