"""Tokens: shown once, stored as hashes in a file of the owner's alone, recognised until they are revoked."""

import hashlib
import json
import os
import stat
import subprocess
import sys
from hmac import compare_digest
from pathlib import Path

import pytest
from api_place import NOW

from local_backend.daemon import tokens as tokens_module
from local_backend.daemon.access import Caller, Role
from local_backend.daemon.tokens import TokenStore
from nodus_tui.contract.errors import ErrorCode, NodusError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file will be; its folder is made with it."""
    return tmp_path / "home" / "tokens.json"


def test_a_token_is_recognised_by_another_store_and_only_its_hash_is_on_disk(path: Path) -> None:
    token = TokenStore(path).create("night-watch", Role.VIEWER, now=NOW)
    assert token.startswith("nodus_")
    assert len(token) == len("nodus_") + 43
    assert TokenStore(path).caller(token) == Caller("night-watch", Role.VIEWER)
    assert token.removeprefix("nodus_") not in path.read_text()
    stored = json.loads(path.read_text())["tokens"][0]
    assert stored == {
        "name": "night-watch",
        "role": "viewer",
        "sha256": hashlib.sha256(token.encode()).hexdigest(),
        "createdAt": "2026-01-01T00:00:00Z",
    }


def test_the_file_is_its_owners_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        TokenStore(path).create("one", Role.OPERATOR, now=NOW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(each.name for each in path.parent.iterdir()) == ["tokens.json", "tokens.lock"]


def test_a_running_server_notices_a_revoked_token(path: Path) -> None:
    serving, managing = TokenStore(path), TokenStore(path)
    first = managing.create("one", Role.OPERATOR, now=NOW)
    second = managing.create("two", Role.VIEWER, now=NOW)
    assert serving.caller(first) is not None
    managing.revoke("one")
    assert serving.caller(first) is None
    assert serving.caller(second) == Caller("two", Role.VIEWER)
    assert [record.name for record in serving.all()] == ["two"]


def test_a_removed_file_leaves_no_token_valid(path: Path) -> None:
    store = TokenStore(path)
    token = store.create("one", Role.OPERATOR, now=NOW)
    assert store.caller(token) is not None
    path.unlink()
    assert store.caller(token) is None


def test_names_are_unique_and_are_names(path: Path) -> None:
    store = TokenStore(path)
    store.create("one", Role.VIEWER, now=NOW)
    with pytest.raises(NodusError) as taken:
        store.create("one", Role.OPERATOR, now=NOW)
    assert taken.value.code is ErrorCode.CONFLICT
    with pytest.raises(NodusError, match='"no name!" is no name'):
        store.create("no name!", Role.VIEWER, now=NOW)
    with pytest.raises(NodusError) as missing:
        store.revoke("two")
    assert missing.value.code is ErrorCode.NOT_FOUND
    assert [(record.name, record.role) for record in store.all()] == [("one", Role.VIEWER)]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"tokens": [{"name": "x"}]}', b"\xff\xfe"])
def test_a_damaged_file_lets_nobody_in(path: Path, text: bytes) -> None:
    store = TokenStore(path)
    token = store.create("one", Role.OPERATOR, now=NOW)
    path.write_bytes(text)
    with pytest.raises(NodusError, match="is damaged") as refused:
        store.caller(token)
    assert refused.value.code is ErrorCode.CONFIGURATION
    assert token not in refused.value.detail


def test_a_file_that_others_may_write_lets_nobody_in(path: Path) -> None:
    token = TokenStore(path).create("one", Role.OPERATOR, now=NOW)
    path.chmod(0o620)
    with pytest.raises(NodusError, match="chmod 600"):
        TokenStore(path).caller(token)


def test_every_token_is_compared_in_constant_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TokenStore(path)
    tokens = [store.create(name, Role.VIEWER, now=NOW) for name in ("one", "two", "three")]
    compared: list[str] = []

    def noting(stored: str, given: str) -> bool:
        compared.append(stored)
        return compare_digest(stored, given)

    monkeypatch.setattr(tokens_module.hmac, "compare_digest", noting)
    everything = [record.sha256 for record in store.all()]
    for token in (*tokens, "nodus_unknown"):
        compared.clear()
        store.caller(token)
        assert compared == everything


def test_two_processes_that_create_tokens_lose_none(path: Path) -> None:
    script = (
        "import sys; from datetime import UTC, datetime; from pathlib import Path\n"
        "from local_backend.daemon.tokens import TokenStore; from local_backend.daemon.access import Role\n"
        "for count in range(20): TokenStore(Path(sys.argv[1])).create(f'{sys.argv[2]}{count}', Role.VIEWER, now=datetime.now(UTC))\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")]
    assert [child.wait() for child in children] == [0, 0]
    assert {record.name for record in TokenStore(path).all()} == {f"{name}{count}" for name in "ab" for count in range(20)}
