"""The detached scheduler as both sides know it: what it writes down about itself, and what it was started with. Pure."""

import hashlib
import hmac
import re
from collections.abc import Mapping

from nodus_tui.contract.base import ContractModel, UTCTime

RECORD_NAME = "scheduler.json"
"""The record's file in the state folder, readable by its owner only."""

SAME_START_SECONDS = 2.0
"""The system tells when a process started through its clock, which may be set: closer than this is the same process."""


class SchedulerRecord(ContractModel):
    """Who runs a workspace's work. It stands from the moment that the socket answers until the process has ended in order."""

    pid: int
    process_start_time: float
    """Seconds since the epoch, as the system tells (psutil): a process id is given again, a process id with its start is not."""
    socket: str
    version: str
    started_at: UTCTime
    surroundings: str = ""
    """`surroundings_digest` of the configuration and the keys that it was started with."""
    salt: str = ""
    stopping: bool = False
    """It was asked to stop and hands its work over; nobody is to attach any more."""


_KEY_SETTING = re.compile(rb"apiKeyEnv\s*:\s*[\"']?([A-Za-z_][A-Za-z0-9_]*)")


def surroundings_digest(configuration: bytes, environ: Mapping[str, str], salt: str) -> str:
    """A digest of what a scheduler takes over at its start: the configuration file, and the variables that hold providers' keys.

    Those are the variables that the file names, and every one whose name ends in `_API_KEY`. No key can be read out of it.
    """
    named = {name.decode() for name in _KEY_SETTING.findall(configuration)}
    names = sorted(named | {name for name in environ if name.endswith("_API_KEY")})
    digest = hmac.new(salt.encode(), configuration, hashlib.sha256)
    for name in names:
        digest.update(f"\0{name}\0{environ.get(name, '')}".encode(errors="surrogateescape"))
    return digest.hexdigest()
