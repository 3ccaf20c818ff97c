"""`keys`: the console's keys as a list, a person's own among them."""

import json
from pathlib import Path

import pytest

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.main import main
from nodus_tui.view_state.key_actions import keys_markdown


def keys(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["keys", *arguments])
    told = capsys.readouterr()
    return left.value.code or 0, told.out, told.err


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "config.yaml"
    monkeypatch.setenv("NODUS_CONFIG", str(file))
    return file


def test_the_list_has_the_persons_own_keys(configuration: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration.write_text("console: {keys: {kill: Del, launch: null, down: [ctrl+e]}}\n", encoding="utf-8")
    code, out, _ = keys(["group", "--json"], capsys)
    listed = {(row["view"], row["action"]): row["keys"] for row in json.loads(out)}
    assert code == Exit.DONE
    assert listed["group", "kill"] == ["Del"]
    assert listed["group", "launch"] == []
    assert listed["moving", "down"] == ["ctrl+e"]
    assert ("jobs", "kill") not in listed
    code, out, _ = keys([], capsys)
    assert any(line.split()[:3] == ["jobs", "Del", "kill"] for line in out.splitlines())
    assert any(line.split()[:3] == ["jobs", "palette", "launch"] for line in out.splitlines())


def test_the_reference_is_that_of_the_docs(configuration: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration.write_text("", encoding="utf-8")
    assert keys(["-o", "markdown"], capsys)[1].strip() == keys_markdown().strip()


def test_faults_are_told_with_their_lines(configuration: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration.write_text("console:\n  keys: {kil: x, kill: ctrl+s}\n", encoding="utf-8")
    code, _, err = keys([], capsys)
    assert code == Exit.USAGE
    assert f"{configuration}:2:10: console.keys.kil" in err
    assert f"{configuration}:2:24: console.keys.kill" in err
    assert "2 faults" in err
