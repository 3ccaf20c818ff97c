"""The last gold check of each environment that was checked in a workspace: a small file each, so that two checks never meet in one."""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from nodus_tui.contract.environment_check import GoldRecord

_log = logging.getLogger(__name__)


class CheckedEnvironments:
    """The files below one folder. What cannot be read is as if there had been no check."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> tuple[GoldRecord, ...]:
        """The last check of each, in the order of their names."""
        from nodus_tui.contract.environment_check import GoldRecord  # noqa: PLC0415 - for lists of environments

        found = []
        with suppress(OSError):
            for file in self._folder.glob("*.json"):
                with suppress(OSError, ValueError):
                    found.append(GoldRecord.model_validate_json(file.read_bytes()))
        return tuple(sorted(found, key=lambda each: each.environment))

    def keep(self, record: GoldRecord) -> None:
        """Remember a check that came to its end; where that is not possible it is logged: the check itself was told."""
        name = record.environment.rpartition("@")[0]
        file = self._folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}.json"
        beside = file.with_suffix(f".{os.getpid()}.new")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside.write_text(record.model_dump_json(by_alias=True, indent=2) + "\n", encoding="utf-8")
            beside.replace(file)
        except OSError as error:
            _log.warning("the check of %s cannot be kept: %s", record.environment, error.strerror or error)
