"""Reads, writes and edits files in a sandbox, as the agent: never as root, never by a path of the host.

Everything goes through short scripts over `Sandbox.spawn` (`scripts.py`), contents over standard input and output. What goes wrong with a
file is told to the model as `FileToolError`; what goes wrong with the sandbox is a `SandboxError`.
"""

import asyncio
import posixpath
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from local_backend.sandboxes.interface import ENGINE_SECONDS, Sandbox, SandboxError, SandboxGoneError
from local_backend.sandboxes.running import Finished, run
from local_backend.tools import replacing, scripts
from local_backend.tools.arguments import EditArguments, ReadArguments, WriteArguments
from local_backend.tools.definitions import seconds_text
from local_backend.tools.scripts import ScriptCode
from nodus_tui.contract.wording import escaped

READ_BYTES = 32 * 1024
"""One read gives so much of a file, at most."""

FILE_BYTES = 4 * 1024 * 1024
"""What write takes, and the largest file that edit changes."""

FILE_SECONDS = 30.0
"""One operation on a file, at most."""

_READ_KEEP = 2 * READ_BYTES
_KILLED_BY = 128
_NO_SPACE = ("No space left", "quota exceeded")
_COUNTED = re.compile(rb"\s*([0-9]+)\s+([0-9]+)(\s+open)?")
"""What the reading script says of the whole file."""

_SAID = 300
"""Characters of a program's complaint that the model is told."""


class FileToolError(Exception):
    """The operation failed. The text is for the model: what is wrong, and what would help."""


class Files(Struct, frozen=True):
    """The file tools over one sandbox."""

    sandbox: Sandbox
    kill_everything: Callable[[], Awaitable[None]]
    """Kills the agent's processes: when an operation hangs, and when no process can be started. Raises SandboxError."""
    workdir: str
    """Where relative paths start."""
    seconds: float = FILE_SECONDS
    grace_seconds: float = ENGINE_SECONDS

    async def read(self, wanted: ReadArguments) -> str:
        """Lines of a text file, below a line that says which. Raises FileToolError, SandboxError."""
        path = self._path(wanted.path)
        lines = "" if wanted.lines is None else str(wanted.lines)
        result = await self._run(scripts.READ_LINES, path, str(wanted.first_line), lines, str(READ_BYTES + 1), keep=_READ_KEEP)
        _check(result, path, "read")
        return _shown(path, wanted, result)

    async def write(self, wanted: WriteArguments) -> str:
        """Write a whole file. Raises FileToolError, SandboxError."""
        path = self._path(wanted.path)
        content = wanted.content.encode()
        if wanted.path.endswith("/"):
            raise FileToolError(f"{escaped(path)} names a folder; folders are made with the files in them.")
        if len(content) > FILE_BYTES:
            raise FileToolError(f"The content has {len(content):,} bytes; write takes {FILE_BYTES:,} at most. Nothing was written.")
        was = await self._write(path, content)
        kind = "its content was replaced" if was == "old" else "a new file"
        lines = content.count(b"\n") + bool(content and not content.endswith(b"\n"))
        return f"Wrote {escaped(path)}: {kind}, {_count(lines, 'line')}, {_count(len(content), 'byte')}."

    async def edit(self, wanted: EditArguments) -> str:
        """Replace a text in a file. Raises FileToolError, SandboxError."""
        path = self._path(wanted.path)
        result = await self._run(scripts.READ_ALL, path, str(FILE_BYTES), keep=2 * FILE_BYTES)
        _check(result, path, "read")
        if result.dropped or len(result.stdout) > FILE_BYTES:  # It grew after it was measured.
            raise FileToolError(_too_large(path, len(result.stdout)))
        try:
            replaced = replacing.replace(result.stdout, wanted.old.encode(), wanted.new.encode(), every=wanted.all)
        except replacing.ReplaceError as error:
            raise FileToolError(f"{escaped(path)}: {error}") from error
        if len(replaced.content) > FILE_BYTES:
            raise FileToolError(f"The file would have {len(replaced.content):,} bytes; the most is {FILE_BYTES:,}. Nothing was changed.")
        await self._write(path, replaced.content)
        return f"Replaced {_count(len(replaced.lines), 'occurrence')} in {escaped(path)}, at {replacing.lines_text(replaced.lines)}."

    async def _write(self, path: str, content: bytes) -> str:
        temporary = f".nodus-{secrets.token_hex(8)}.tmp"
        result = await self._run(scripts.WRITE, path, temporary, str(len(content)), stdin=content)
        _check(result, path, "written")
        return result.stdout.decode("utf-8", errors="replace").strip()

    def _path(self, path: str) -> str:
        return posixpath.join(self.workdir, path)

    async def _run(self, script: str, *arguments: str, stdin: bytes = b"", keep: int = 64 * 1024) -> Finished:
        """Run a script to its end. Raises FileToolError when it hangs, SandboxError when the engine does."""
        try:
            async with asyncio.timeout(self.seconds + 2 * self.grace_seconds):
                try:
                    finished = await self._once(script, arguments, stdin, keep)
                except SandboxGoneError:
                    raise
                except SandboxError:
                    # The agent's own processes may leave no room for another one; that is no failure of the engine.
                    await self.kill_everything()
                    finished = await self._once(script, arguments, stdin, keep)
        except TimeoutError as error:
            raise SandboxError(f"The sandbox engine did not answer in time (sandbox {self.sandbox.id}).") from error
        if finished.exit_code is None:
            await self.kill_everything()
            message = f"This took longer than {seconds_text(self.seconds)} and was killed, with every process that you had started."
            raise FileToolError(message)
        return finished

    async def _once(self, script: str, arguments: tuple[str, ...], stdin: bytes, keep: int) -> Finished:
        command = ("/bin/sh", "-c", script, "sh", *arguments)
        return await run(self.sandbox, command, timeout=self.seconds, stdin=stdin, environ={"LC_ALL": "C"}, keep=keep)


def _check(result: Finished, path: str, done: str) -> None:
    """Raise what the exit code means."""
    shown, said = escaped(path), _said(result)
    match result.exit_code or 0:
        case ScriptCode.DONE:
            return
        case ScriptCode.NOTHING_THERE:
            message = f"There is no file {shown}. {_listing(result.stdout)}"
        case ScriptCode.FOLDER:
            message = f"{shown} is a folder. {_listing(result.stdout)}"
        case ScriptCode.TOO_LARGE:
            message = _too_large(path, int(result.stdout or b"0"))
        case code if code in _MESSAGES:
            message = _MESSAGES[code].format(path=shown)
        case code:
            message = f"{shown} was not {done}{_why(code, said)}"
    raise FileToolError(message)


_MESSAGES: Mapping[int, str] = {
    ScriptCode.NOT_A_FILE: "{path} is not a regular file.",
    ScriptCode.NOT_READABLE: "You may not read {path} (permission denied).",
    ScriptCode.NOT_WRITABLE: "You may not write {path}, or not in its folder (permission denied or read-only).",
    ScriptCode.CUT_SHORT: "{path} was not written, for not all of the content arrived. Try again.",
}


def _why(code: int, said: str) -> str:
    if any(words in said for words in _NO_SPACE):
        return f": no space is left. Remove files that are not needed. ({said})"
    if code == ScriptCode.NO_PARENT:
        return f", for its folder could not be made: {said}"
    if code > _KILLED_BY:
        return f": the program was killed by signal {code - _KILLED_BY}, perhaps for want of memory."
    return f" (exit code {code}): {said or 'no reason was given'}"


def _said(result: Finished) -> str:
    """What a script's programs complained of, on one line."""
    return escaped(" ".join(result.stderr.decode("utf-8", errors="replace").split()))[:_SAID]


def _listing(stdout: bytes) -> str:
    """What a folder has, from a script's `list`."""
    folder, _, rest = stdout.partition(b"\0")
    names = [escaped(name) for name in rest.decode("utf-8", errors="replace").splitlines()]
    shown = escaped(folder.decode("utf-8", errors="replace"))
    if not names:
        return f"The folder {shown} is empty, or may not be listed."
    more = " and more" if len(names) > scripts.MOST_NAMES else ""
    return f"The folder {shown} has: {', '.join(names[: scripts.MOST_NAMES])}{more}."


def _shown(path: str, wanted: ReadArguments, result: Finished) -> str:
    """The text, below a line that says what it is."""
    name = escaped(path)
    counted = _COUNTED.match(result.stderr)
    if counted is None:
        raise FileToolError(f"{name} was not read: {_said(result) or 'no reason was given'}")
    is_open = counted[3] is not None
    total, size = int(counted[1]) + is_open, int(counted[2])
    data = result.stdout
    if b"\0" in data:
        raise FileToolError(f"{name} is a binary file of {_count(size, 'byte')}; look at it with a program, such as od.")
    if not data:
        if wanted.first_line == 1:
            return f"[{name} is empty]"
        raise FileToolError(f"{name} has only {_count(total, 'line')}; there is no line {wanted.first_line:,}.")
    notes: list[str] = []
    if len(data) > READ_BYTES:
        whole_lines = data[:READ_BYTES].rfind(b"\n") + 1
        data = data[: whole_lines or READ_BYTES]
        notes.append(f"cut after {len(data):,} bytes, in the middle of a line" if not whole_lines else f"cut after {len(data):,} bytes")
    last = wanted.first_line + data.count(b"\n") - data.endswith(b"\n")
    if last < total:
        notes.append(f"go on with firstLine {last + 1}")
    elif is_open:
        notes.append("no line break at the end")
    text = data.decode("utf-8", errors="replace")
    if "\ufffd" in text and "\ufffd".encode() not in data:
        notes.append("bytes that are not UTF-8 are shown as \ufffd")
    lines = f"line {last:,}" if last == wanted.first_line else f"lines {wanted.first_line:,}-{last:,}"
    return f"[{name}: {lines} of {total:,}{''.join(f'; {note}' for note in notes)}]\n{text}"


def _too_large(path: str, size: int) -> str:
    return f"{escaped(path)} has {size:,} bytes; edit changes files of up to {FILE_BYTES:,}. Use a program in bash for it."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
