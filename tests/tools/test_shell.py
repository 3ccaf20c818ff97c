"""What commands can do to the shell, and what it tells of them."""

import asyncio
import shlex
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_backend.sandboxes.interface import Sandbox
from local_backend.tools.shell import CommandEnd, CommandResult, Shell

FLOOD = 1 << 20


@pytest.fixture
async def shell(sandbox: Sandbox) -> AsyncIterator[Shell]:
    shell = Shell(sandbox, flood_bytes=FLOOD)
    yield shell
    await shell.aclose()


async def run(shell: Shell, command: str, seconds: float = 60) -> CommandResult:
    return await shell.run(command, seconds)


async def said(shell: Shell, command: str) -> tuple[str, int | None]:
    result = await run(shell, command)
    assert result.end is CommandEnd.FINISHED
    return result.output, result.exit_code


@pytest.mark.every_engine
async def test_state_stays_between_commands(shell: Shell, sandbox: Sandbox) -> None:
    assert await said(shell, "pwd") == (f"{sandbox.workdir}\n", 0)
    assert await said(shell, "mkdir -p 'a b'; cd 'a b'; x='1  2'; f() { echo \"f $1\"; return 7; }; export Y=z; set -f") == ("", 0)
    assert await said(shell, "pwd; echo \"$x\"; f y; echo $?; sh -c 'echo $Y'; echo *") == (
        f"{sandbox.workdir}/a b\n1  2\nf y\n7\nz\n*\n",
        0,
    )
    assert shell.folder == f"{sandbox.workdir}/a b"


async def test_exit_codes(shell: Shell) -> None:
    assert (await said(shell, "(exit 200)"))[1] == 200
    assert await said(shell, "echo $?") == ("200\n", 0)
    assert (await said(shell, "false; true"))[1] == 0
    assert (await said(shell, "sh -c 'kill -9 $$'"))[1] == 137
    output, code = await said(shell, "no-such-program-here")
    assert code == 127
    assert "no-such-program-here" in output


@pytest.mark.every_engine
async def test_both_outputs_in_their_order(shell: Shell) -> None:
    command = "for i in 1 2 3; do echo out$i; echo err$i >&2; done; sh -c 'echo child >&2; echo child'"
    assert await said(shell, command) == ("out1\nerr1\nout2\nerr2\nout3\nerr3\nchild\nchild\n", 0)


@pytest.mark.parametrize(
    "text",
    [
        "'",
        '"\'"\'"',
        "$(echo no)`echo no`$HOME",
        "back\\slash \\n \\' end\\",
        "a\nb\n\nc",
        "tab\there",
        "ünï 😀 \u202e rtl",
        "EOF\n' </dev/null\n",
        "-n",
        "!history! #comment",
        "".join(chr(number) for number in range(1, 128)),
    ],
)
async def test_quoting_horrors_arrive_as_they_are(shell: Shell, text: str) -> None:
    assert await said(shell, f"printf %s {shlex.quote(text)}") == (text, 0)
    assert await said(shell, f"cat <<'END OF TEXT'\n{text}\nEND OF TEXT") == (f"{text}\n", 0)


async def test_any_text_arrives_as_it_is(shell: Shell) -> None:
    # One shell for all examples, which also shows that none of them breaks it.
    loop = asyncio.get_running_loop()

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200))
    def check(text: str) -> None:
        reply = asyncio.run_coroutine_threadsafe(said(shell, f"printf %s {shlex.quote(text)}"), loop).result(30)
        assert reply == (text, 0)

    await asyncio.to_thread(check)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat <<E\n$((1 + 1))\nE", "2\n"),
        ("cat <<E\nno end", "no end\n"),
        ("cat <<-'E'\n\t\tx\n\tE\necho after", "x\nafter\n"),
        ("cat <<A; cat <<B\na\nA\nb\nB\n", "a\nb\n"),
        ("echo a \\\nb", "a b\n"),
        ("echo a # comment", "a\n"),
        ("-x 2>/dev/null || echo no option", "no option\n"),
        ("echo a \\", "a\n"),
        ("", ""),
        ("\n\n", ""),
        ("if true\nthen echo yes\nfi", "yes\n"),
    ],
)
async def test_scripts_of_every_shape(shell: Shell, command: str, output: str) -> None:
    reply, code = await said(shell, command)
    # bash warns of the here-document without an end.
    assert "\n".join(line for line in reply.splitlines() if "warning" not in line) == output.rstrip("\n")
    assert code == 0


@pytest.mark.parametrize("command", ["if", "echo 'open", 'echo "open', "echo $(", "}", "a=(", "for", "fi; exit 3", "'", "cat <<E\n$(\nE"])
async def test_a_syntax_error_is_told_and_leaves_a_shell(shell: Shell, command: str) -> None:
    await run(shell, "kept=yes")
    result = await run(shell, command)
    assert result.exit_code not in {0, None}
    assert result.output
    if result.end is CommandEnd.FINISHED:  # bash keeps the shell; others may lose it.
        assert await said(shell, "echo $kept") == ("yes\n", 0)
    else:
        assert await said(shell, "echo again") == ("again\n", 0)


async def test_stdin_is_empty(shell: Shell) -> None:
    assert await said(shell, 'read x; echo "$? [$x]"; cat; sh -c cat; wc -c') == ("1 []\n0\n", 0)
    output, code = await said(shell, "stty -a 2>&1; tty")
    assert code == 1
    assert "not a tty" in output


async def test_redirections_of_the_shell_itself_end_with_the_command(shell: Shell) -> None:
    assert await said(shell, "exec >out.txt; echo hidden; exec 2>&1; echo also >&2") == ("", 0)
    assert await said(shell, "exec >&- 2>&-; echo nowhere") == ("", 1)
    assert await said(shell, "exec <out.txt; read x; echo $x") == ("hidden\n", 0)
    assert await said(shell, "exec <&-; echo seen; cat out.txt") == ("seen\nhidden\nalso\n", 0)
    assert await said(shell, "exec 9>lock; echo nine >&9") == ("", 0)
    assert await said(shell, "echo more >&9; cat lock") == ("nine\nmore\n", 0)


async def test_shell_options_of_the_agent_stay_its_own(shell: Shell) -> None:
    output, _ = await said(shell, "set -xu; x=1")
    assert output.endswith("x=1\n")
    output, code = await said(shell, "echo $x")
    assert (output.splitlines()[-1], code) == ("1", 0)
    assert all("PWD" not in line for line in output.splitlines())
    await said(shell, "set +x; set -v")
    output, _ = await said(shell, "echo here")
    assert "here" in output
    assert (await run(shell, "set -n; echo no", 0.3)).end is CommandEnd.TIMED_OUT
    assert await said(shell, "echo back") == ("back\n", 0)


async def test_set_e_ends_the_shell_and_a_new_one_starts_in_the_last_folder(shell: Shell, sandbox: Sandbox) -> None:
    await said(shell, "mkdir sub; cd sub; x=1")
    result = await run(shell, "set -e; echo before; false; echo after")
    assert (result.output, result.exit_code, result.end) == ("before\n", 1, CommandEnd.SHELL_ENDED)
    assert await said(shell, 'pwd; echo "[$x]"') == (f"{sandbox.workdir}/sub\n[]\n", 0)


@pytest.mark.parametrize(
    ("command", "code"), [("echo bye; exit 5", 5), ("echo bye; kill -9 $$", 137), ("echo bye; exec sh -c 'exit 6'", 6)]
)
async def test_a_command_that_ends_the_shell(shell: Shell, command: str, code: int) -> None:
    result = await run(shell, command)
    assert (result.output, result.exit_code, result.end) == ("bye\n", code, CommandEnd.SHELL_ENDED)
    assert await said(shell, "echo $?") == ("0\n", 0)


@pytest.mark.every_engine
async def test_a_shell_that_ended_between_commands_is_told(shell: Shell) -> None:
    await said(shell, "echo $$ >pid; (while kill -0 $$ && ! [ -e go ]; do sleep 0.01; done; kill -9 $$; : >gone) >/dev/null 2>&1 &")
    other = Shell(shell._sandbox)
    await said(other, ": >go; while ! [ -e gone ]; do sleep 0.01; done")
    await other.aclose()
    while shell._live is None or not shell._live.has_ended():
        await asyncio.sleep(0.005)
    result = await run(shell, "echo new")
    assert result.output == "new\n"
    assert len(result.news) == 1
    assert "exit code 137" in result.news[0]
    assert (await run(shell, "true")).news == ()


GONE = 'state() { s=$(sed \'s/.*) //;s/ .*//\' /proc/$1/stat 2>/dev/null); [ -z "$s" ] || [ "$s" = Z ]; }; state $(cat pid) && echo gone'


@pytest.mark.every_engine
async def test_a_timeout_kills_all_that_the_agent_started(shell: Shell, sandbox: Sandbox) -> None:
    await said(shell, "mkdir deep; cd deep; x=1")
    command = "setsid sleep 1000 >/dev/null 2>&1 & echo $! >pid; trap '' TERM INT HUP; echo waiting; sh -c 'trap \"\" TERM; sleep 1000'"
    result = await run(shell, command, 3)
    assert (result.output, result.exit_code, result.end) == ("waiting\n", None, CommandEnd.TIMED_OUT)
    assert await said(shell, f'pwd; echo "[$x]"; {GONE}') == (f"{sandbox.workdir}/deep\n[]\ngone\n", 0)


@pytest.mark.parametrize("command", ["while :; do :; done", "kill -STOP $$", "exec sleep 1000", "read x <>fifo"])
async def test_what_hangs_ends_at_its_time(shell: Shell, command: str) -> None:
    await said(shell, "mkfifo fifo")
    assert (await run(shell, command, 0.3)).end is CommandEnd.TIMED_OUT
    assert await said(shell, "echo back") == ("back\n", 0)


@pytest.mark.every_engine
async def test_background_processes_go_on(shell: Shell) -> None:
    assert await said(shell, "(while ! [ -e go ]; do sleep 0.01; done; echo late) & echo $! >pid; echo now") == ("now\n", 0)
    assert await said(shell, "true") == ("", 0)
    output, code = await said(shell, ": >go; wait; echo done")
    assert (output, code) == ("late\ndone\n", 0)


async def test_output_after_the_end_is_shown_with_the_next_command(shell: Shell) -> None:
    await said(shell, "(while ! [ -e go ]; do sleep 0.01; done; echo late; : >done) & true")
    other = Shell(shell._sandbox)
    await said(other, ": >go; while ! [ -e done ]; do sleep 0.01; done")
    await other.aclose()
    assert await said(shell, "echo next") == ("late\nnext\n", 0)


@pytest.mark.every_engine
@pytest.mark.parametrize("start", ["setsid sleep 1000 &", "(trap '' HUP; sleep 1000 &)", "nohup sleep 1000 &"])
@pytest.mark.parametrize("end", ["echo on", "exit 4"])
async def test_a_daemon_that_holds_the_output_open_holds_up_nothing(shell: Shell, start: str, end: str) -> None:
    result = await run(shell, f"{start}\n{end}")
    assert result.end is (CommandEnd.SHELL_ENDED if end.startswith("exit") else CommandEnd.FINISHED)
    assert await said(shell, "echo back") == ("back\n", 0)
    await shell.kill_everything()


@pytest.mark.every_engine
async def test_a_flood_is_cut_off_and_killed(shell: Shell) -> None:
    result = await run(shell, "echo start; sleep 1000 & echo $! >pid; yes 0123456789 | head -c 100000000; echo end")
    assert (result.exit_code, result.end) == (None, CommandEnd.FLOODED)
    assert result.output.startswith("start\n0123456789\n")
    assert "bytes left out here" in result.output
    assert len(result.output) < 20_000
    assert await said(shell, GONE) == ("gone\n", 0)


@pytest.mark.every_engine
async def test_a_flood_in_the_background_is_found_by_the_next_command(shell: Shell) -> None:
    await said(shell, "(while ! [ -e go ]; do sleep 0.01; done; exec yes) & true")
    other = Shell(shell._sandbox)
    await said(other, ": >go")
    await other.aclose()
    result = await run(shell, "sleep 1000")
    assert result.end is CommandEnd.FLOODED
    assert await said(shell, "echo back") == ("back\n", 0)


@pytest.mark.every_engine
async def test_a_fork_bomb_leaves_a_shell_after_its_time(shell: Shell) -> None:
    result = await run(shell, "b() { b | b & b; }; b >/dev/null 2>&1; sleep 1000", 1)
    assert result.end is not CommandEnd.FINISHED
    assert await said(shell, "echo back") == ("back\n", 0)


@pytest.mark.every_engine
async def test_who_takes_all_memory_loses_a_process_or_the_shell_and_no_more(shell: Shell) -> None:
    result = await run(shell, "tail /dev/zero")  # It keeps a line that never ends.
    assert result.exit_code not in {0, None}
    assert await said(shell, "echo back") == ("back\n", 0)


async def test_a_long_output_keeps_its_beginning_and_its_end(shell: Shell) -> None:
    output, code = await said(shell, "echo first; seq 100000; echo last; exit_code() { return 3; }; exit_code")
    assert code == 3
    assert output.startswith("first\n1\n2\n")
    assert output.endswith("99999\n100000\nlast\n")
    assert len(output) < 17_000


async def test_no_line_break_at_the_end(shell: Shell) -> None:
    assert await said(shell, "printf abc") == ("abc", 0)
    assert await said(shell, "printf def >&2") == ("def", 0)


@pytest.mark.every_engine
async def test_hostile_bytes(shell: Shell) -> None:
    output, code = await said(shell, r"printf '\033[2J\033]0;t\007\000\377\376\355\240\200\r\b.'")
    assert (output, code) == ("\x1b[2J\x1b]0;t\x07\0\ufffd\ufffd\ufffd\ufffd\ufffd\r\b.", 0)
    output, _ = await said(shell, "head -c 5000 /dev/urandom")
    output.encode()
    assert await said(shell, "echo sane") == ("sane\n", 0)


async def test_lookalikes_of_the_marker_are_output(shell: Shell) -> None:
    lookalike = "0123456789abcdef0123456789abcdef:0:/tmp:0123456789abcdef0123456789abcdef\n"
    text = lookalike * 50 + "0123456789abcdef"
    assert await said(shell, f"printf %s {shlex.quote(text)}; false") == (text, 1)
    # What the shell itself holds while a command runs has no marker that a command could copy.
    output, _ = await said(shell, "set; tr '\\0' '\\n' </proc/$$/cmdline; fc -l 2>&1; history 2>&1")
    again, _ = await said(shell, "set")
    assert "eval" not in output
    assert "PWD-" not in again


@pytest.mark.parametrize(
    "command",
    [
        "printf() { echo fake; }",
        "eval() { echo fake; }; shopt -s expand_aliases 2>/dev/null; alias eval=false printf=false",
        "trap 'echo trapped' DEBUG ERR RETURN",
        "PWD='/a:b\nc'; false",
        "unset PWD",
        "PATH=",
        "IFS=0123456789abcdef:",
        "export LC_ALL=tr_TR.UTF-8",
        "POSIXLY_CORRECT=1",
        "readonly PWD",
        "ulimit -n 12",
        "umask 777",
        "set -a; set -o posix 2>/dev/null; set -b -m",
    ],
)
async def test_sabotage_leaves_a_shell_that_answers(shell: Shell, command: str) -> None:
    await run(shell, command, 20)
    result = await run(shell, "command echo works", 20)
    assert "works\n" in result.output
    assert result.end is CommandEnd.FINISHED


@pytest.mark.parametrize("command", ["command() { :; }", 'command() { builtin printf \'%s junk %s\\n\' "$3" "$3"; }'])
async def test_who_breaks_the_report_gets_a_new_shell_or_no_exit_code(shell: Shell, command: str) -> None:
    result = await run(shell, command, 0.5)
    assert result.exit_code is None
    await shell.kill_everything()
    assert await said(shell, "echo works") == ("works\n", 0)


async def test_a_folder_that_is_gone(shell: Shell, sandbox: Sandbox) -> None:
    await said(shell, "mkdir lost; cd lost; rmdir ../lost")
    assert (await said(shell, "echo here"))[0] == "here\n"
    await run(shell, "exit")
    result = await run(shell, "pwd")
    assert result.output == f"{sandbox.workdir}\n"
    assert len(result.news) == 1
    assert f"{sandbox.workdir}/lost is gone" in result.news[0]
    assert shell.folder == sandbox.workdir


async def test_folders_with_odd_names_are_found_again(shell: Shell, sandbox: Sandbox) -> None:
    name = "-a 'b\" $c\n\\d ü:e"
    await said(shell, f"mkdir -- {shlex.quote(name)}; cd -- {shlex.quote(name)}")
    assert shell.folder == f"{sandbox.workdir}/{name}"
    await run(shell, "exit")
    assert await said(shell, "pwd") == (f"{sandbox.workdir}/{name}\n", 0)


@pytest.mark.every_engine
async def test_a_large_command_arrives_whole(shell: Shell) -> None:
    text = "".join(f"line {number} 'q'\n" for number in range(20_000))
    assert await said(shell, f"wc -c <<'E'\n{text}E") == (f"{len(text)}\n", 0)
    # The shell now writes every line that it reads before it reads the next.
    await said(shell, "set -v")
    output, code = await said(shell, f"wc -c <<'E'\n{text}E")
    assert output.endswith(f"\n{len(text)}\n")
    assert code == 0


@pytest.mark.every_engine
async def test_a_cancelled_command_is_killed_before_the_next_one(shell: Shell) -> None:
    await said(shell, "true")
    task = asyncio.create_task(run(shell, "sleep 1000 & echo $! >pid; : >started; wait"))
    other = Shell(shell._sandbox)
    await said(other, "while ! [ -e started ]; do sleep 0.01; done")
    await other.aclose()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await said(shell, GONE) == ("gone\n", 0)


@pytest.mark.every_engine
async def test_nothing_of_the_process_that_starts_it_is_in_its_environment(shell: Shell) -> None:
    output, _ = await said(shell, "env; cat /proc/$$/environ | tr '\\0' '\\n'")
    assert "NODUS_HOME" not in output
    assert "TERM=dumb" in output
