"""The tokens of a workspace: made, listed, revoked and recognised. Only their hashes are stored, in `tokens.json` of NODUS_HOME.

A token holds 32 random bytes, so nobody finds one by trying, and a plain SHA-256 of it gives nothing away: the slow hashes that passwords
need protect what people can guess. The file is the owner's alone and is replaced as a whole, so a reader never sees half of it, and a
server notices a revoked token with the next request.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from local_backend.daemon.access import Caller, Role
from nodus_tui.contract.base import ContractModel, UTCTime
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.regular_files import open_regular
from nodus_tui.contract.resources.meta import Name
from nodus_tui.contract.wording import quoted

PREFIX = "nodus_"
"""What every token begins with, so that people and secret scanners know one when they see it."""

FILE_NAME = "tokens.json"
"""The file's name in NODUS_HOME."""


class TokenRecord(ContractModel):
    """What is kept of one token."""

    name: Name
    """Stands as the author of what is done with it."""
    role: Role
    sha256: str
    """Of the whole token's ASCII bytes, in hexadecimal digits."""
    created_at: UTCTime


class _TokenFile(ContractModel):
    tokens: tuple[TokenRecord, ...] = ()


_NAME: TypeAdapter[str] = TypeAdapter(Name)


class TokenStore:
    """The tokens of one file. All calls raise NodusError when the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._records: tuple[TokenRecord, ...] = ()

    def create(self, name: str, role: Role, *, now: datetime) -> str:
        """A new token, which nobody can be shown again. Raises Conflict when the name is taken, InvalidRequest when it is no name."""
        try:
            _NAME.validate_python(name)
        except ValidationError as error:
            raise NodusError(ErrorCode.INVALID_REQUEST, str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None
        token = PREFIX + secrets.token_urlsafe(32)
        with self._changing() as records:
            if any(record.name == name for record in records):
                raise NodusError(ErrorCode.CONFLICT, f"there is a token {quoted(name)} already; revoke it first, or choose another name")
            records.append(TokenRecord(name=name, role=role, sha256=_digest(token), created_at=now))
        return token

    def revoke(self, name: str) -> None:
        """Forget a token. Raises NotFound."""
        with self._changing() as records:
            kept = [record for record in records if record.name != name]
            if len(kept) == len(records):
                raise NodusError.not_found("token", name)
            records[:] = kept

    def all(self) -> tuple[TokenRecord, ...]:
        """All tokens, oldest first."""
        self._refresh()
        return self._records

    def caller(self, token: str) -> Caller | None:
        """Whose token this is; None when it is nobody's, or no more."""
        self._refresh()
        digest = _digest(token)
        found: Caller | None = None
        for record in self._records:
            # Every record is compared, each in constant time: how long it takes tells nothing about any of them.
            if hmac.compare_digest(record.sha256, digest):
                found = Caller(record.name, record.role)
        return found

    def _refresh(self) -> None:
        """Read the file again if it is another one than that which was read last."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen, self._records = None, ()
            return
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        identity = (found.st_ino, found.st_mtime_ns, found.st_size)
        if identity != self._seen:
            self._records = self._read()
            self._seen = identity

    def _read(self) -> tuple[TokenRecord, ...]:
        try:
            with open_regular(self._path) as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o022:
                    raise self._unusable(f"others than its owner may write it; say chmod 600 {self._path}")
                return _TokenFile.model_validate_json(file.read()).tokens
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error
        except ValidationError as error:
            raise self._unusable(f"it is damaged ({error.error_count()} faults); remove it and create the tokens anew") from None

    @contextmanager
    def _changing(self) -> Iterator[list[TokenRecord]]:
        """The records, to be changed; written when the block ends without an error. One process at a time."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _owner_only(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                records = list(self._read())
                yield records
                self._write(tuple(records))
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from error

    def _write(self, records: tuple[TokenRecord, ...]) -> None:
        new = self._path.with_suffix(f".{os.getpid()}.new")
        text = json.dumps(_TokenFile(tokens=records).to_document(), indent=2) + "\n"
        with _owner_only(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            os.write(file, text.encode())
            os.fsync(file)
        new.replace(self._path)

    def _unusable(self, why: str) -> NodusError:
        return NodusError(ErrorCode.CONFIGURATION, f"the token file {self._path} cannot be used: {why}")


@contextmanager
def _owner_only(path: Path, flags: int) -> Iterator[int]:
    """A file of its owner alone, open."""
    file = os.open(path, flags, 0o600)
    try:
        os.fchmod(file, 0o600)
        yield file
    finally:
        os.close(file)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
