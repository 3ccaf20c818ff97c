"""Reading, writing and editing files as the agent."""

import json
import shlex
from collections.abc import AsyncIterator

import pytest

from local_backend.models.wire import ToolCall
from local_backend.sandboxes.interface import Sandbox
from local_backend.tools.files import FILE_BYTES, READ_BYTES
from local_backend.tools.toolbox import Toolbox


@pytest.fixture
async def toolbox(sandbox: Sandbox) -> AsyncIterator[Toolbox]:
    toolbox = Toolbox(sandbox, ("bash", "read", "write", "edit"), command_seconds=60)
    yield toolbox
    await toolbox.aclose()


async def done(toolbox: Toolbox, tool: str, **arguments: object) -> str:
    outcome = await toolbox.call(ToolCall("1", tool, json.dumps(arguments)))
    assert not outcome.result.is_error, outcome.result.text
    return outcome.result.text


async def failed(toolbox: Toolbox, tool: str, **arguments: object) -> str:
    outcome = await toolbox.call(ToolCall("1", tool, json.dumps(arguments)))
    assert outcome.result.is_error, outcome.result.text
    return outcome.result.text


async def bash(toolbox: Toolbox, command: str) -> str:
    return (await done(toolbox, "bash", command=command)).removesuffix("[exit code 0]")


@pytest.mark.every_engine
async def test_a_written_file_is_read_back(toolbox: Toolbox, sandbox: Sandbox) -> None:
    said = await done(toolbox, "write", path="new/deep/a.txt", content="one\ntwo\n")
    assert said == f"Wrote {sandbox.workdir}/new/deep/a.txt: a new file, 2 lines, 8 bytes."
    assert await done(toolbox, "read", path="new/deep/a.txt") == f"[{sandbox.workdir}/new/deep/a.txt: lines 1-2 of 2]\none\ntwo\n"
    assert await bash(toolbox, "ls -A new/deep; cat new/deep/a.txt") == "a.txt\none\ntwo\n"
    assert "its content was replaced, 0 lines, 0 bytes" in await done(toolbox, "write", path="new/deep/a.txt", content="")
    assert await done(toolbox, "read", path=f"{sandbox.workdir}/new/deep/a.txt") == f"[{sandbox.workdir}/new/deep/a.txt is empty]"


@pytest.mark.parametrize(
    "content", ["\0\x01\x1b[31m\r\n\x7f", "no end", "ünï 😀\n", "$(id) `id` %s \\n ' \"\n", "x" * 300_000 + "\n", "\n\n"]
)
async def test_contents_arrive_as_they_are(toolbox: Toolbox, content: str) -> None:
    await done(toolbox, "write", path="f", content=content)
    assert (
        await bash(toolbox, "cksum <f") == await bash(toolbox, f"printf '%b' {shlex.quote(_octal(content[:2000]))} | cksum")
        or len(content) > 2000
    )
    assert await bash(toolbox, "wc -c <f") == f"{len(content.encode())}\n"


def _octal(text: str) -> str:
    return "".join(f"\\0{byte:03o}" for byte in text.encode())


@pytest.mark.parametrize(
    "name", ["-rf", "$(touch hacked)", "a b;touch hacked", "'\"\\", "*", "a\nb", "ü😀", "-", "sub/../x", "%s%n", "[a]"]
)
async def test_names_are_never_read_by_a_shell(toolbox: Toolbox, name: str) -> None:
    await bash(toolbox, "mkdir sub")
    await done(toolbox, "write", path=name, content="a b\n")
    assert "1 occurrence" in await done(toolbox, "edit", path=name, old="a", new="c")
    assert (await done(toolbox, "read", path=name)).endswith("]\nc b\n")
    assert await bash(toolbox, f"cat -- {shlex.quote('./' + name)}; ls hacked 2>/dev/null || true") == "c b\n"


@pytest.mark.every_engine
async def test_lines_of_a_file(toolbox: Toolbox, sandbox: Sandbox) -> None:
    await bash(toolbox, "seq 100 >f; printf end >>f")
    at = f"{sandbox.workdir}/f"
    assert await done(toolbox, "read", path="f", firstLine=3, lines=2) == f"[{at}: lines 3-4 of 101; go on with firstLine 5]\n3\n4\n"
    assert await done(toolbox, "read", path="f", firstLine=100) == f"[{at}: lines 100-101 of 101; no line break at the end]\n100\nend"
    assert await done(toolbox, "read", path="f", firstLine=101, lines=9) == f"[{at}: line 101 of 101; no line break at the end]\nend"
    assert await failed(toolbox, "read", path="f", firstLine=102) == f"{at} has only 101 lines; there is no line 102."
    assert "lines 1-101 of 101" in await done(toolbox, "read", path="f", lines=10**14)


async def test_a_long_file_is_read_in_parts(toolbox: Toolbox) -> None:
    await bash(toolbox, "seq 20000 >f")
    first = await done(toolbox, "read", path="f")
    head, _, body = first.partition("\n")
    assert len(body) <= READ_BYTES
    last = int(body.splitlines()[-1])
    assert body == "".join(f"{number}\n" for number in range(1, last + 1))
    assert f"lines 1-{last:,} of 20,000; cut after {len(body):,} bytes; go on with firstLine {last + 1}]" in head
    assert (await done(toolbox, "read", path="f", firstLine=last + 1)).partition("\n")[2].startswith(f"{last + 1}\n")


async def test_a_line_longer_than_a_reading(toolbox: Toolbox) -> None:
    await bash(toolbox, "head -c 100000 /dev/zero | tr '\\0' x >f; echo >>f; echo more >>f")
    text = await done(toolbox, "read", path="f")
    assert "line 1 of 2; cut after 32,768 bytes, in the middle of a line; go on with firstLine 2]\nxxx" in text
    assert len(text) < READ_BYTES + 500


async def test_what_is_not_text(toolbox: Toolbox) -> None:
    await bash(toolbox, "printf 'a\\0b' >binary; printf 'caf\\351\\n' >latin; mkfifo fifo")
    assert "is a binary file of 3 bytes" in await failed(toolbox, "read", path="binary")
    assert (await done(toolbox, "read", path="latin")).endswith("bytes that are not UTF-8 are shown as \ufffd]\ncaf\ufffd\n")
    for path in ("fifo", "/dev/zero", "/dev/null"):
        assert "is not a regular file" in await failed(toolbox, "read", path=path)
        assert "is not a regular file" in await failed(toolbox, "write", path=path, content="x")
        assert "is not a regular file" in await failed(toolbox, "edit", path=path, old="x", new="y")


async def test_files_of_the_kernel_are_read(toolbox: Toolbox) -> None:
    assert "Name:" in await done(toolbox, "read", path="/proc/self/status")


@pytest.mark.every_engine
async def test_what_is_not_there_is_answered_with_what_is(toolbox: Toolbox, sandbox: Sandbox) -> None:
    await bash(toolbox, 'mkdir -p src/lib; touch src/a.py "src/b\'\n.py" src/.hidden; chmod +x src/a.py')
    expected = f"The folder {sandbox.workdir}/src has: .hidden, a.py, b'"
    assert (await failed(toolbox, "read", path="src/c.py")).startswith(f"There is no file {sandbox.workdir}/src/c.py. {expected}")
    assert (await failed(toolbox, "read", path="src")).startswith(f"{sandbox.workdir}/src is a folder. {expected}")
    assert (await failed(toolbox, "edit", path="src/no/such/folder/x", old="a", new="b")).endswith("lib/.")
    assert f"The folder {sandbox.workdir}/src/lib is empty" in await failed(toolbox, "read", path="src/lib/x")
    await bash(toolbox, "ln -s nowhere dangling; ln -s dangling2 dangling2")
    assert "There is no file" in await failed(toolbox, "read", path="dangling")
    assert "is a folder" in await failed(toolbox, "write", path="src", content="x")
    assert "names a folder" in await failed(toolbox, "write", path="src/new/", content="x")
    assert "its folder could not be made: mkdir" in await failed(toolbox, "write", path="src/a.py/x", content="x")
    assert "was not written" in await failed(toolbox, "write", path="dangling2", content="x")


async def test_a_full_folder_is_listed_in_part(toolbox: Toolbox) -> None:
    await bash(toolbox, "mkdir many; cd many; seq 1000 | xargs touch; cd ..")
    text = await failed(toolbox, "read", path="many/x")
    assert text.endswith("and more.")
    assert len(text) < 1000


@pytest.mark.every_engine
async def test_an_edit_changes_what_was_asked_and_keeps_the_mode(toolbox: Toolbox, sandbox: Sandbox) -> None:
    await bash(toolbox, "printf 'a = 1\\nb = 2\\nc = 1\\n\\377' >f; chmod 751 f")
    said = await done(toolbox, "edit", path="f", old="b = 2", new="b = 3\nbb = 4")
    assert said == f"Replaced 1 occurrence in {sandbox.workdir}/f, at line 2."
    assert "at lines 1 and 4" in await failed(toolbox, "edit", path="f", old="= 1", new="= 9")
    assert "Replaced 2 occurrences" in await done(toolbox, "edit", path="f", old="= 1", new="= 9", all=True)
    assert await bash(toolbox, "od -An -c f | tr -d ' \\n'; stat -c ' %a' f; ls -A") == "a=9\\nb=3\\nbb=4\\nc=9\\n377 751\nf\n"
    assert "`old` is not in the file" in await failed(toolbox, "edit", path="f", old="nothing", new="x")


async def test_a_write_keeps_the_mode_and_follows_a_link(toolbox: Toolbox) -> None:
    await bash(toolbox, "mkdir real; echo old >real/f; chmod 640 real/f; ln -s real/f link; ln -s real/new newlink")
    await done(toolbox, "write", path="link", content="new\n")
    await done(toolbox, "edit", path="link", old="new", new="newer")
    await done(toolbox, "write", path="newlink", content="x\n")
    assert (
        await bash(toolbox, "readlink link; cat real/f; stat -c %a real/f; cat real/new; ls -A real") == "real/f\nnewer\n640\nx\nf\nnew\n"
    )


@pytest.mark.every_engine
async def test_too_large_a_file(toolbox: Toolbox) -> None:
    await bash(toolbox, f"head -c {FILE_BYTES + 1} /dev/zero >f")
    assert "has 4,194,305 bytes; edit changes files of up to 4,194,304" in await failed(toolbox, "edit", path="f", old="a", new="b")
    assert "write takes 4,194,304 at most" in await failed(toolbox, "write", path="g", content="x" * (FILE_BYTES + 1))
    await bash(toolbox, "head -c 3000000 /dev/zero | tr '\\0' x >f")
    assert "The file would have 6,000,000 bytes" in await failed(toolbox, "edit", path="f", old="x", new="xx", all=True)
    await done(toolbox, "write", path="g", content="x" * FILE_BYTES)
    assert await bash(toolbox, "wc -c <f; wc -c <g") == "3000000\n4194304\n"


async def test_paths_start_in_the_work_folder_wherever_the_shell_is(toolbox: Toolbox, sandbox: Sandbox) -> None:
    await bash(toolbox, "mkdir sub; cd sub")
    await done(toolbox, "write", path="here", content="x")
    assert await bash(toolbox, "pwd; ls ..") == f"{sandbox.workdir}/sub\nhere\nsub\n"


async def test_what_the_shell_does_reaches_no_file_tool(toolbox: Toolbox) -> None:
    await bash(
        toolbox, "cat() { echo fake; }; export -f cat 2>/dev/null; alias cat=false; export PATH=/nowhere BASH_ENV=/task/evil ENV=/task/evil"
    )
    await done(toolbox, "write", path="f", content="x\n")
    assert (await done(toolbox, "read", path="f")).endswith("\nx\n")


@pytest.mark.every_engine
async def test_where_the_agent_may_not_write(toolbox: Toolbox) -> None:
    for path in ("/usr/bin/x", "/etc/passwd", "/proc/1/environ", "/new/folder/x"):
        text = await failed(toolbox, "write", path=path, content="x")
        assert "may not write" in text or "was not written" in text
    assert "may not read /proc/1/environ" in await failed(toolbox, "read", path="/proc/1/environ")
    await bash(
        toolbox,
        "echo secret >f; chmod 0 f; mkdir shut; touch shut/f; chmod 0 shut; echo old >g; chmod 444 g; mkdir ro; echo x >ro/f; chmod 555 ro",
    )
    assert "may not read" in await failed(toolbox, "read", path="f")
    assert "may not read" in await failed(toolbox, "edit", path="f", old="a", new="b")
    assert "There is no file" in await failed(toolbox, "read", path="shut/f")
    assert "may not write" in await failed(toolbox, "write", path="g", content="x")
    assert "may not write" in await failed(toolbox, "edit", path="ro/f", old="x", new="y")
    assert await bash(toolbox, "cat g ro/f") == "old\nx\n"


@pytest.mark.every_engine
async def test_no_space_is_told_and_leaves_the_old_file(toolbox: Toolbox) -> None:
    await done(toolbox, "write", path="f", content="old\n")
    await done(toolbox, "bash", command="head -c 200000000 /dev/zero >fill 2>/dev/null; ls -A")
    text = await failed(toolbox, "write", path="f", content="x" * 1_000_000)
    assert "no space is left. Remove files" in text
    text = await failed(toolbox, "edit", path="f", old="old", new="n" * 1_000_000)
    assert "no space is left. Remove files" in text
    assert await bash(toolbox, "cat f; ls -A; rm fill") == "old\nf\nfill\n"
    await done(toolbox, "write", path="f", content="new\n")
