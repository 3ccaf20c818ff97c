"""What a Dockerfile says about its last stage: where work begins, and what it takes from its folder. Pure.

Only as much is understood as that needs: continuation lines, comments, ARG and ENV for names in paths.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec import Struct, field

DEFAULT_WORKDIR = "/app"
"""Where the layouts' own images have it; a Dockerfile without WORKDIR is taken to have it from such an image."""

_ESCAPE = re.compile(r"^\s*#\s*escape\s*=\s*(\S)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))")
_PAIR = re.compile(r"""([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"\\]|\\.)*"|'[^']*'|\S*)""")
_FLAG = re.compile(r"^--\S+\s+")


class Dockerfile(Struct):
    """What was found."""

    workdir: str | None = None
    """The last WORKDIR as an absolute path; None where the image's own counts."""
    bases: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    """What COPY and ADD take from the folder, in every stage."""
    unresolved: list[str] = field(default_factory=list)
    """Variables in the last stage's WORKDIR that the Dockerfile gives no value."""


def parse_dockerfile(text: str) -> Dockerfile:
    """Read a Dockerfile."""
    found = Dockerfile()
    known: dict[str, str] = {}
    in_heredoc: str | None = None
    for instruction, rest in _instructions(text):
        if in_heredoc is not None:
            in_heredoc = None if instruction == in_heredoc else in_heredoc
            continue
        match instruction.upper():
            case "FROM":
                found.bases.append(_FLAG.sub("", rest).split()[0] if rest.split() else "")
                found.workdir, found.unresolved = None, []
            case "ARG" | "ENV":
                _learn(known, rest)
            case "WORKDIR":
                _enter(found, rest, known)
            case "COPY" | "ADD":
                found.sources += _sources(rest)
        if instruction.upper() in {"RUN", "COPY", "ADD"} and (heredoc := re.search(r"<<-?\s*[\"']?([A-Za-z_]\w*)", rest)):
            in_heredoc = heredoc[1]
    return found


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    escape = "\\"
    whole = ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n")):
        if number == 0 and (match := _ESCAPE.match(line)):
            escape = match[1]
        bare = line.strip()
        if bare.startswith("#") or (not bare and whole):
            continue
        if bare.endswith(escape):
            whole += bare[:-1] + " "
            continue
        whole += bare
        if whole.strip():
            name, _, rest = whole.strip().partition(" ")
            yield name, rest.strip()
        whole = ""
    if whole.strip():
        name, _, rest = whole.strip().partition(" ")
        yield name, rest.strip()


def _learn(known: dict[str, str], rest: str) -> None:
    pairs = _PAIR.findall(rest)
    if not pairs and len(rest.split(None, 1)) == 2:
        name, value = rest.split(None, 1)
        pairs = [(name, value)]
    for name, value in pairs:
        known[name] = _filled(value.strip("\"'"), known)[0]


def _filled(text: str, known: dict[str, str]) -> tuple[str, list[str]]:
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name in known:
            return known[name]
        if match[2] is not None:
            return match[2]
        missing.append(name)
        return ""

    return _VARIABLE.sub(value, text), missing


def _enter(found: Dockerfile, rest: str, known: dict[str, str]) -> None:
    path, missing = _filled(rest.strip("\"'"), known)
    if path.startswith("/"):
        found.unresolved = missing
    else:
        found.unresolved += missing
        path = str(PurePosixPath(found.workdir or DEFAULT_WORKDIR) / path)
    parts: list[str] = []
    for part in PurePosixPath(path).parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    found.workdir = "/" + "/".join(parts)


def _sources(rest: str) -> list[str]:
    flags = []
    while match := _FLAG.match(rest):
        flags.append(match[0].strip())
        rest = rest[match.end() :]
    if any(flag.startswith("--from=") for flag in flags) or "<<" in rest:
        return []
    words = re.findall(r'"([^"]*)"', rest) if rest.startswith("[") else rest.split()
    return [word for word in words[:-1] if not re.match(r"[a-z]+://|git@", word)]
