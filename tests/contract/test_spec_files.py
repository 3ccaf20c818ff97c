"""Reading spec files: files, directories, standard input, and what cannot be read."""

import io
import os
from pathlib import Path

import pytest
from contract_examples import AGENT, GROUP, RUN

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.spec_loading.files import STDIN, read_sources
from nodus_tui.contract.spec_loading.loader import load_specs
from nodus_tui.contract.spec_loading.packing import pack_bundle, unpack_bundle
from nodus_tui.contract.spec_loading.yaml_text import MAX_BYTES


def problems(*paths: Path | str, stdin: bytes = b"") -> list[tuple[str, str]]:
    with pytest.raises(NodusError) as caught:
        load_specs(read_sources([str(path) for path in paths], io.BytesIO(stdin)))
    return [(fault.file, fault.message) for fault in caught.value.faults]


def test_a_file_keeps_its_name_as_given_and_its_folder(tmp_path, monkeypatch):
    (tmp_path / "agent.yaml").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    (source,) = read_sources(["agent.yaml"], io.BytesIO())
    assert (source.file, source.folder, source.text) == ("agent.yaml", tmp_path.resolve(), AGENT.encode())


def test_a_directory_gives_the_specs_directly_in_it_by_name(tmp_path):
    (tmp_path / "b.yaml").write_text(GROUP)
    (tmp_path / "a.yml").write_text(AGENT)
    (tmp_path / "notes.txt").write_text("no spec")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.yaml").write_text(RUN)
    (tmp_path / "folder.yaml").mkdir()
    bundle = load_specs(read_sources([str(tmp_path)], io.BytesIO()))
    assert [(document.file, document.resource.name) for document in bundle] == [
        (str(tmp_path / "a.yml"), "worker"),
        (str(tmp_path / "b.yaml"), "sums"),
    ]


def test_standard_input_is_read_once_and_lies_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (source,) = read_sources(["-", "-"], io.BytesIO(AGENT.encode()))
    assert (source.file, source.folder, source.text) == (STDIN, tmp_path.resolve(), AGENT.encode())
    assert source.folder.is_absolute()


def test_standard_input_lies_nowhere_when_the_current_folder_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    (source,) = read_sources(["-"], io.BytesIO(AGENT.encode()))
    assert (source.folder, source.text) == (None, AGENT.encode())


def test_a_file_named_twice_is_read_once(tmp_path):
    (tmp_path / "a.yaml").write_text(AGENT)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    paths = [str(tmp_path / "a.yaml"), str(tmp_path), str(tmp_path / "." / "a.yaml")]
    assert [source.file for source in read_sources(paths, io.BytesIO())] == [paths[0]]


def test_everything_that_cannot_be_read_is_told_at_once_beside_the_faults_of_what_can(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [\n")
    nothing = tmp_path / "nothing.yaml"
    nothing.write_bytes(b"")
    large = tmp_path / "large.yaml"
    large.write_bytes(b"# " + b"x" * MAX_BYTES)
    absent = tmp_path / "absent.yaml"
    assert problems(absent, empty, bad, nothing, large, "-", stdin=b"\n") == [
        (str(absent), "there is no such file or directory"),
        (str(empty), "the directory holds no spec: no file in it ends in .yaml or .yml"),
        (str(bad), "a list is opened with [ here and never closed"),
        (str(nothing), "the file holds no document"),
        (str(large), "the file is larger than 1,024 KiB, the most that a spec may have"),
        (STDIN, "the file holds no document"),
    ]


def test_a_device_is_no_spec():
    assert problems("/dev/zero") == [("/dev/zero", "the file cannot be read: it is no regular file")]


def test_a_broken_link_in_a_directory_is_told(tmp_path):
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    assert problems(tmp_path) == [(str(tmp_path / "gone.yaml"), "there is no such file or directory")]


def test_a_loop_of_links_is_told(tmp_path):
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    ((file, message),) = problems(tmp_path / "loop.yaml")
    assert file.endswith("loop.yaml")
    assert message.startswith("the file cannot be read: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_told(tmp_path):
    secret = tmp_path / "secret.yaml"
    secret.write_text(AGENT)
    secret.chmod(0)
    assert problems(secret) == [(str(secret), "the file may not be read: permission is denied")]


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, ""])
def test_a_name_that_no_file_can_have_is_told(name):
    ((_, message),) = problems(name)
    assert message


def test_a_file_name_that_is_not_utf8_is_shown_with_escapes(tmp_path):
    raw = os.fsencode(tmp_path) + b"/caf\xe9.yaml"
    Path(os.fsdecode(raw)).write_text("a: [\n")
    ((file, _),) = problems(os.fsdecode(raw))
    assert file.endswith("caf\\udce9.yaml")
    file.encode("utf-8")


def test_standard_input_that_cannot_be_read_is_told():
    class Broken(io.RawIOBase):
        def read(self, size=-1):
            raise OSError(5, "Input/output error")

    with pytest.raises(NodusError) as caught:
        load_specs(read_sources(["-"], Broken()))
    assert [fault.message for fault in caught.value.faults] == ["standard input cannot be read: Input/output error"]


def test_from_a_folder_whose_name_is_not_utf8_all_is_applied_that_needs_no_folder(tmp_path):
    for name, kept in ((b"latin-\xe9", False), ("utf-8-é".encode(), True)):
        folder = tmp_path / os.fsdecode(name)
        folder.mkdir()
        (folder / "agent.yaml").write_text(AGENT)
        (document,) = unpack_bundle(pack_bundle(load_specs(read_sources([str(folder / "agent.yaml")], io.BytesIO()))))
        assert document.resource.name == "worker"
        assert document.folder == (folder if kept else None)
