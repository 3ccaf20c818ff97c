"""The shell in an image that has no bash."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from plain_processes import PlainSandbox

from local_backend.tools.shell import CommandEnd, Shell


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with all programs but bash."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "bash":
            (folder / program.name).symlink_to(program)
    return folder


@pytest.fixture
async def shell(plain: PlainSandbox, programs: Path) -> AsyncIterator[Shell]:
    plain.path = str(programs)
    shell = Shell(plain)
    yield shell
    await shell.aclose()


async def said(shell: Shell, command: str) -> tuple[str, int | None]:
    result = await shell.run(command, 60)
    assert result.end is CommandEnd.FINISHED
    return result.output, result.exit_code


async def test_sh_serves_as_well(shell: Shell, plain: PlainSandbox) -> None:
    assert await said(shell, "command -v bash; echo $0") == ("sh\n", 0)
    assert await said(shell, "mkdir sub; cd sub; x='a  b'; f() { return 7; }; f") == ("", 7)
    assert await said(shell, 'echo $? "$x"; pwd; echo err >&2; read y; echo "[$y]"') == (f"7 a  b\n{plain.workdir}/sub\nerr\n[]\n", 0)
    assert await said(shell, "exec >out; echo hidden") == ("", 0)
    assert await said(shell, "cat out <<'E'\nE") == ("hidden\n", 0)
    assert shell.folder == f"{plain.workdir}/sub"


@pytest.mark.parametrize("command", ["if", "echo 'open", "exit 2", "set -e; false"])
async def test_what_ends_it_is_told(shell: Shell, plain: PlainSandbox, command: str) -> None:
    await said(shell, "mkdir sub; cd sub")
    result = await shell.run(command, 60)
    assert result.end is CommandEnd.SHELL_ENDED or result.exit_code == 2
    assert await said(shell, "pwd") == (f"{plain.workdir}/sub\n", 0)


async def test_limits_hold(shell: Shell) -> None:
    assert (await shell.run("sleep 1000", 0.2)).end is CommandEnd.TIMED_OUT
    assert (await shell.run("yes", 60)).end is CommandEnd.FLOODED
    assert await said(shell, "echo back") == ("back\n", 0)
