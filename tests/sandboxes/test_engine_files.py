"""Engine suite: files go in and come out as archives over pipes, and no archive does harm on its way."""

import io
import tarfile
from pathlib import Path

import pytest
from engine_suite import python, said, sandbox_of, shell

from local_backend.sandboxes.archives import ArchiveError, entries, member, pack, sanitise
from local_backend.sandboxes.interface import SandboxEngine, SandboxError, User
from local_backend.sandboxes.running import SandboxFileError, fetch_folder, put_archive, put_files, read_file


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_files_go_in_as_their_user(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "files-in", purpose="grading") as sandbox:
        await put_files(sandbox, {"a/b.txt": b"agent's\n", "c": b""}, user=User.AGENT, folder="/task")
        await put_files(sandbox, {"answers.json": b"{}"}, user=User.ROOT, folder="/grader", mode=0o600)
        await put_files(sandbox, {"x": b"new"}, user=User.AGENT, folder="/task/made/for/it")
        assert (
            await said(sandbox, "cat a/b.txt; stat -c '%u %a' a a/b.txt c made/for/it/x")
            == "agent's\n1000 755\n1000 644\n1000 644\n1000 644\n"
        )
        assert await said(sandbox, "stat -c '%u %a' /grader/answers.json", user=User.ROOT) == "0 600\n"


async def test_files_do_not_go_where_the_user_may_not_write(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "files-refused", purpose="grading") as sandbox:
        for folder in ("/grader", "/usr", "/nowhere"):
            with pytest.raises(SandboxError, match=f"could not be put into {folder}"):
                await put_files(sandbox, {"x": b"1"}, user=User.AGENT, folder=folder)


async def test_more_than_the_disk_is_told(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "files-large") as sandbox:
        with pytest.raises(SandboxError, match=r"No space left|Wrote only"):
            await put_files(sandbox, {"x": bytes(48 << 20)}, user=User.AGENT, folder="/task")


async def test_what_the_agent_linked_is_not_followed_by_root(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "files-links", purpose="grading") as sandbox:
        await put_files(sandbox, {"answers": b"secret"}, user=User.ROOT, folder="/grader")
        await said(sandbox, "ln -s /grader/answers a; ln -s /grader d")
        for path in ("/task/a", "/task/d/answers"):
            with pytest.raises(SandboxFileError):
                await read_file(sandbox, path, limit=100)
        # An archive that goes over the link replaces it, and the answers stay.
        await put_files(sandbox, {"a": b"mine"}, user=User.AGENT, folder="/task")
        assert await read_file(sandbox, "/task/a", limit=100) == b"mine"
        assert await read_file(sandbox, "/grader/answers", user=User.ROOT, limit=100) == b"secret"


async def test_a_folder_comes_out_whole(engine: SandboxEngine, tmp_path: Path) -> None:
    target = tmp_path / "files.tar"
    async with sandbox_of(engine, "files-out") as sandbox:
        await said(
            sandbox, "mkdir d; seq 10000 >d/n; ln d/n hard; ln -s d/n soft; touch 'odd\nname'; printf '#!' >run; chmod 755 run; mkfifo pipe"
        )
        await fetch_folder(sandbox, "/task", user=User.AGENT, target=target, limit_bytes=1 << 20)
        assert {(each.path, each.kind) for each in entries(target)} == {
            ("d", "folder"),
            ("d/n", "file"),
            ("hard", "file"),
            ("soft", "link"),
            ("odd\nname", "file"),
            ("run", "file"),
        }
        assert [each.executable for each in entries(target) if each.path == "run"] == [True]
        numbers = b"".join(member(target, "hard"))
        assert numbers == "".join(f"{number}\n" for number in range(1, 10_001)).encode()
        assert _names(tmp_path) == ["files.tar"]


async def test_files_go_from_one_sandbox_to_the_next(engine: SandboxEngine, tmp_path: Path) -> None:
    target = tmp_path / "files.tar"
    async with sandbox_of(engine, "files-first") as sandbox:
        await said(sandbox, "mkdir d; echo kept >d/f; ln -s /usr/bin/env absolute; chmod 700 d")
        await fetch_folder(sandbox, "/task", user=User.AGENT, target=target, limit_bytes=1 << 20)
    async with sandbox_of(engine, "files-second", purpose="grading") as sandbox:
        await put_archive(sandbox, target, user=User.AGENT, folder="/task/again", as_it_is=True)
        assert await said(sandbox, "cat again/d/f; readlink again/absolute; stat -c %a again/d") == "kept\n/usr/bin/env\n700\n"
        kept = await put_archive(sandbox, target, user=User.ROOT, folder="/grader/files")
        assert kept is not None
        assert kept.left_out == 1
        assert (
            await said(sandbox, "cat /grader/files/d/f; test -L /grader/files/absolute || echo left out", user=User.ROOT)
            == "kept\nleft out\n"
        )
        with pytest.raises(SandboxError, match="as the agent only"):
            await put_archive(sandbox, target, user=User.ROOT, folder="/grader/files", as_it_is=True)


async def test_too_large_a_folder_leaves_nothing(engine: SandboxEngine, tmp_path: Path) -> None:
    async with sandbox_of(engine, "files-too-large") as sandbox:
        await said(sandbox, "head -c 2000000 /dev/zero >x")
        with pytest.raises(SandboxFileError, match="larger than"):
            await fetch_folder(sandbox, "/task", user=User.AGENT, target=tmp_path / "files.tar", limit_bytes=1 << 20)
        with pytest.raises(SandboxFileError, match="no folder"):
            await fetch_folder(sandbox, "/nowhere", user=User.AGENT, target=tmp_path / "files.tar", limit_bytes=1 << 20)
        assert _names(tmp_path) == []


async def test_what_cannot_be_read_is_missed_and_told(engine: SandboxEngine, tmp_path: Path) -> None:
    async with sandbox_of(engine, "files-unreadable") as sandbox:
        await said(sandbox, "echo a >good; echo b >bad; chmod 000 bad")
        fetched = await fetch_folder(sandbox, "/task", user=User.AGENT, target=tmp_path / "files.tar", limit_bytes=1 << 20)
        assert fetched.incomplete
        assert [each.path for each in entries(tmp_path / "files.tar")] == ["good"]


async def test_many_files_come_out_and_are_counted(engine: SandboxEngine, tmp_path: Path) -> None:
    target = tmp_path / "files.tar"
    async with sandbox_of(engine, "files-many") as sandbox:
        await python(sandbox, "for n in range(5000): open(f'f{n}', 'w').close()")
        await fetch_folder(sandbox, "/task", user=User.AGENT, target=target, limit_bytes=32 << 20)
    assert len(entries(target)) == 5000
    with pytest.raises(ArchiveError, match="more than 1000 entries"):
        sanitise(target, io.BytesIO(), limit_bytes=1 << 20, limit_entries=1000)


async def test_a_hostile_archive_changes_nothing_outside_its_folder(engine: SandboxEngine, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.tar"
    with tarfile.open(hostile, "w") as archive:
        for name, kind, link in (
            ("link", tarfile.SYMTYPE, "/grader"),
            ("link/answers", tarfile.REGTYPE, ""),
            ("up", tarfile.SYMTYPE, ".."),
            ("../up", tarfile.REGTYPE, ""),
            ("/grader/answers", tarfile.REGTYPE, ""),
            ("hard", tarfile.LNKTYPE, "/grader/answers"),
            ("device", tarfile.BLKTYPE, ""),
            ("fine", tarfile.REGTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode, info.size = kind, link, 0o4777, 4 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"evil"))
    async with sandbox_of(engine, "files-hostile", purpose="grading") as sandbox:
        await put_files(sandbox, {"answers": b"secret"}, user=User.ROOT, folder="/grader")
        kept = await put_archive(sandbox, hostile, user=User.ROOT, folder="/grader/in")
        assert kept is not None
        # The link is left out, so what would have gone through it lies in a folder of that name.
        assert [each.path for each in kept.entries] == ["link/answers", "fine"]
        assert (
            await said(sandbox, "cat /grader/answers; ls -A /grader/in/fine; stat -c ' %a' /grader/in/fine", user=User.ROOT)
            == "secret/grader/in/fine\n 755\n"
        )


async def test_reading_one_file(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "read-file") as sandbox:
        await put_files(sandbox, {"f": b"0123456789"}, user=User.AGENT, folder="/task")
        assert await read_file(sandbox, "f", limit=4) == b"0123"
        assert await read_file(sandbox, "/task/f", limit=10) == b"0123456789"
        await shell(sandbox, "mkfifo pipe; ln -s /dev/zero zero; touch secret; chmod 0 secret")
        for path in ("absent", "pipe", "zero", "/task", "secret", "-n"):
            with pytest.raises(SandboxFileError):
                await read_file(sandbox, path, limit=4)


async def test_a_packed_archive_is_taken_as_it_is(engine: SandboxEngine) -> None:
    async with sandbox_of(engine, "packed") as sandbox:
        await put_files(sandbox, pack({"run": b"#!/bin/sh\necho ran\n"}, mode=0o755), user=User.AGENT, folder="/task")
        assert await said(sandbox, "./run") == "ran\n"
