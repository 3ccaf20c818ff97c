"""The base image: made of this machine's own files, once, whoever asks at the same time."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from local_backend.sandboxes.base_contents import Entry, plan_digest
from local_backend.sandboxes.base_image import BaseImage, cache_folder

_MAKE = "from local_backend.sandboxes.base_image import BaseImage; b = BaseImage.ensure(); print(b.digest, b.root, b.tar)"


@pytest.fixture(scope="module")
def base() -> BaseImage:
    return BaseImage.ensure()


def test_it_is_found_again_under_its_digest(base: BaseImage) -> None:
    assert BaseImage.ensure() == base
    assert base.reference == f"nodus/base@{base.digest}"
    assert base.root.parent.name == base.digest.removeprefix("sha256:")


def test_the_folder_and_the_archive_hold_the_same(base: BaseImage) -> None:
    with tarfile.open(base.tar) as archive:
        told = {each.name: each for each in archive}
    found = {path.relative_to(base.root).as_posix(): path for path in base.root.rglob("*")}
    assert set(told) == set(found)
    for name, each in told.items():
        path = found[name]
        assert each.issym() == path.is_symlink(), name
        if each.isreg():
            assert each.size == path.stat().st_size, name
            assert path.stat().st_mode & 0o022 == 0, name
    assert (told["task"].uid, told["home/agent"].uid, told["grader"].uid) == (1000, 1000, 0)
    assert told["grader"].mode == 0o700


def test_it_holds_python_pytest_and_the_tools(base: BaseImage) -> None:
    for path in ("bin/sh", "bin/bash", "usr/bin/tar", "usr/local/bin/python3", "usr/local/bin/pytest", "etc/passwd"):
        assert (base.root / path).exists(), path
    assert not list(base.root.rglob("__pycache__/*.opt-*.pyc"))


def test_nothing_in_it_needs_a_library_that_it_lacks(base: BaseImage) -> None:
    names = {path.name for path in base.root.rglob("*.so*")}
    programs = [str(path) for path in (base.root / "usr/bin").iterdir() if not path.is_symlink()]
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    needed = {line.split("=>")[0].strip() for line in told.splitlines() if "=>" in line}
    assert needed
    assert needed <= names


def test_two_processes_at_once_make_one(tmp_path: Path) -> None:
    environ = {**os.environ, "NODUS_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", _MAKE]
    both = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=100)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert answers[0] == answers[1]
    folder = tmp_path / "cache" / "sandbox-base"
    digest = answers[0].split()[0].removeprefix("sha256:")
    assert {path.name for path in folder.iterdir() if path.suffix != ".json"} == {"lock", digest}


def test_what_was_left_half_made_is_made_again(tmp_path: Path, base: BaseImage) -> None:
    folder = tmp_path / "sandbox-base"
    digest = base.digest.removeprefix("sha256:")
    (folder / "making-0123" / "rootfs").mkdir(parents=True)
    (folder / digest / "rootfs").mkdir(parents=True)
    assert BaseImage.ensure(tmp_path).tar == folder / digest / "base.tar"
    assert not (folder / "making-0123").exists()
    (stamp,) = folder.glob("*.json")
    stamp.write_text("{", encoding="utf-8")
    assert BaseImage.ensure(tmp_path).digest == base.digest
    assert json.loads(stamp.read_text(encoding="utf-8")) == {"digest": digest}


def test_the_digest_follows_content_modes_and_links() -> None:
    plans = [
        {"a": Entry(text=b"1")},
        {"a": Entry(text=b"2")},
        {"a": Entry(text=b"1", mode=0o755)},
        {"a": Entry(link="1")},
        {"a": Entry()},
        {"b": Entry(text=b"1")},
        {"a": Entry(text=b"1", uid=1000)},
    ]
    assert len({plan_digest(plan) for plan in plans}) == len(plans)


def test_the_cache_can_be_elsewhere(tmp_path: Path) -> None:
    assert cache_folder({"NODUS_CACHE": str(tmp_path)}) == tmp_path
    assert cache_folder({}).name == "nodus-tui"
