"""Files that are copied into a Sandbox: whole or not at all, under the name that `cp` would give, and what is refused."""

import os
from pathlib import Path

import pytest
from box_place import shell, started
from engine_place import Place

from local_backend.backend import LocalBackend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.sandbox_commands.copying_in import copy_in

pytestmark = pytest.mark.timeout(60)


async def contents(backend: LocalBackend, path: str) -> str:
    done = await shell(backend, f"cat -- {path}")
    assert done.end.exit_code == 0, done.stderr
    return done.stdout.decode()


async def test_a_file_goes_where_cp_would_put_it_and_replaces_nothing_unasked(any_place: Place, tmp_path: Path) -> None:
    source = tmp_path / "-a file"
    source.write_text("first")
    async with any_place.backend() as backend:
        await started(any_place, backend)
        for target, there in (("", "./-a file"), ("/tmp/", "/tmp/-a file"), ("new/deep/name", "./new/deep/name"), ("new", "./new/-a file")):
            copied = await copy_in(backend, "box", source, target)
            assert (copied.target, copied.files, copied.size) == (there.removeprefix("./"), 1, 5)
            assert await contents(backend, f"'{there}'") == "first"
        source.write_text("second")
        source.chmod(0o755)
        with pytest.raises(NodusError, match="--force replaces what is there") as refused:
            await copy_in(backend, "box", source, "new/deep/name")
        assert refused.value.code is ErrorCode.CONFLICT
        assert await contents(backend, "new/deep/name") == "first"
        await copy_in(backend, "box", source, "new/deep/name", force=True)
        assert await contents(backend, "new/deep/name") == "second"
        assert (await shell(backend, "stat -c %a:%U new/deep/name new/-*; ls -A new/deep")).stdout.decode().split() == [
            "755:agent",
            "644:agent",
            "name",
        ], "what can be run can be run there, it is the agent's, and no part of a copy is left"
        await shell(backend, "rm new/-*; mkdir 'new/-a file'")
        with pytest.raises(NodusError, match='"new/-a file" is a folder'):
            await copy_in(backend, "box", source, "new", force=True)
        with pytest.raises(NodusError, match=r"Read-only file system|Permission denied"):
            await copy_in(backend, "box", source, "/usr/name")


async def test_a_folder_goes_without_its_links_and_what_else_is_no_file(place: Place, tmp_path: Path) -> None:
    source = tmp_path / "project"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "er" / "file").write_text("text")
    (source / "link").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe")
    seen: list[int] = []
    async with place.backend() as backend:
        await started(place, backend)
        copied = await copy_in(backend, "box", source, "", progress=seen.append)
        assert (copied.target, copied.files, copied.size, seen[-1]) == ("project", 1, 4, 4)
        assert copied.left_out == ('"link" is a link and was left out', '"pipe" is no file and no folder and was left out')
        assert (await shell(backend, "find project | sort")).stdout.decode().split() == [
            "project",
            "project/deep",
            "project/deep/er",
            "project/deep/er/file",
        ]
        with pytest.raises(NodusError, match="--force"):
            await copy_in(backend, "box", source, "")
        (source / "deep" / "er" / "file").write_text("other")
        await copy_in(backend, "box", source, "", force=True)
        assert await contents(backend, "project/deep/er/file") == "other"


async def test_what_cannot_be_read_here_is_not_half_there(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorter = tmp_path / "shorter"
    shorter.write_bytes(b"x" * 1000)
    async with place.backend() as backend:
        await started(place, backend)
        with pytest.raises(NodusError, match="cannot be read: No such file"):
            await copy_in(backend, "box", tmp_path / "none", "")
        real = os.stat

        def larger(path: object, **options: object) -> os.stat_result:
            found = real(path, **options)  # type: ignore[call-overload]
            return os.stat_result([*found[:6], 2000, *found[7:]]) if str(path) == str(shorter) else found

        monkeypatch.setattr(Path, "stat", larger)
        with pytest.raises(NodusError, match="became shorter"):
            await copy_in(backend, "box", shorter, "")
        assert (await shell(backend, "ls -A")).stdout == b""
