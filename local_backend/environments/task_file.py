"""A task file (JSONL, CSV or YAML) to tasks with their answers, or every fault in it by line. The grader's process only.

A fault says what is wrong and never quotes the file: what stands in the wrong place may be an answer.
"""

import csv
import io
import json
import math
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, field

from local_backend.environments.protocol import clean_text
from local_backend.environments.secret_tasks import SourceError
from local_backend.environments.task_contents import ContentError, checked_files
from nodus_tui.contract.resources.environment import TaskFields
from nodus_tui.values import Quiet

SPLITS = ("train", "test")
LARGEST_FILE = 64 * 2**20
"""Bytes of a JSONL or CSV file, at most."""
LARGEST_YAML = 4 * 2**20
"""Bytes of a YAML file, at most: its parser is slower by far."""
MOST_FAULTS = 50
"""Faults that are told at once, at most."""
_LONGEST_ID = 200
_MOST_TURNS = 64

Row = Mapping[str, object]


class ParsedRow(Quiet, frozen=True):
    """One task as its file has it."""

    line: int
    id: str
    split: str
    prompts: tuple[str, ...]
    metadata: Mapping[str, object]
    answer: object
    files: Mapping[str, str] = field(default_factory=dict)
    """What the agent finds, by path."""
    tests: Mapping[str, str] = field(default_factory=dict)
    solution: Mapping[str, str] | str | None = None


class Needs(Struct, frozen=True):
    """What a row must and may have for its grader, beside the columns that every row has."""

    answer: bool = True
    tests: bool = False
    solution: bool = False
    """Whether reference solutions are read; a row need not have one."""


class _RowError(Exception):
    """What is wrong with one row."""


_WORDS_ONLY = Needs()


class _FileError(Exception):
    """Where reading the file ended, and why."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line
        self.sentence = sentence


def file_format(path: str, given: str | None) -> str:
    """`jsonl`, `csv` or `yaml`, as given or by the ending. Raises SourceError."""
    by_ending = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}
    found = given or by_ending.get(Path(path).suffix.lower())
    if found is None:
        raise SourceError("the task file's ending says neither jsonl, csv nor yaml: set spec.format")
    return found


def read_text(path: str, largest: int) -> str:
    """The file as UTF-8, with or without a byte order mark. Raises SourceError."""
    try:
        # Before opening, for to open a pipe is to wait for its writer.
        kind = Path(path).stat().st_mode
        if not stat.S_ISREG(kind):
            raise SourceError(f"the task file is {'a folder' if stat.S_ISDIR(kind) else 'not a regular file'}")
        with Path(path).open("rb") as file:
            content = file.read(largest + 1)
    except FileNotFoundError:
        raise SourceError("the task file does not exist") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"the task file cannot be read: {getattr(error, 'strerror', None) or 'its path is not valid'}") from None
    if len(content) > largest:
        raise SourceError(f"the task file is larger than {largest // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError("the task file is not UTF-8", [(line, "this line is not UTF-8: save the file as UTF-8")]) from None


def parse(path: str, form: str, fields: TaskFields, needs: Needs = _WORDS_ONLY) -> list[ParsedRow]:
    """The rows of a task file in their order. Raises SourceError with every fault."""
    text = read_text(path, LARGEST_YAML if form == "yaml" else LARGEST_FILE)
    reader = {"jsonl": _jsonl_rows, "csv": _csv_rows, "yaml": _yaml_rows}[form]
    rows: list[ParsedRow] = []
    faults: list[tuple[int, str]] = []
    first_lines: dict[str, int] = {}
    try:
        for line, row in reader(text, fields, needs):
            try:
                parsed = _parsed(line, row, fields, needs, from_csv=form == "csv")
            except _RowError as fault:
                faults.append((line, str(fault)))
            else:
                first = first_lines.setdefault(parsed.id, line)
                if first != line:
                    faults.append((line, f"this id was already used on line {first}"))
                rows.append(parsed)
            if len(faults) >= MOST_FAULTS:
                break
    except _FileError as fault:
        faults.append((fault.line, fault.sentence))
    if faults:
        more = " (there may be more)" if len(faults) >= MOST_FAULTS else ""
        raise SourceError(f"the task file has {len(faults)} fault{'s' if len(faults) > 1 else ''}{more}", faults)
    if not rows:
        raise SourceError("the task file has no rows")
    return rows


def _no_constant(_: str) -> object:
    raise ValueError


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _object_of_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _RowError("a field stands twice in this row")
    return made


_JSON = json.JSONDecoder(object_pairs_hook=_object_of_pairs, parse_constant=_no_constant, parse_float=_finite)


def _decoded(text: str, what: str) -> object:
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError):
        raise _RowError(f"{what} is not valid JSON") from None


def _jsonl_rows(text: str, _: TaskFields, __: Needs) -> Iterator[tuple[int, Row]]:
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        yield line, _LazyRow(content)


class _LazyRow(Mapping[str, object]):
    """A JSON line that is decoded when its first field is asked for, so that its fault belongs to its row."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._decoded: dict[str, object] | None = None

    def _row(self) -> dict[str, object]:
        if self._decoded is None:
            value = _decoded(self._content, "this line")
            if not isinstance(value, dict):
                raise _RowError("this line is not a JSON object")
            self._decoded = value
        return self._decoded

    def __getitem__(self, key: str) -> object:
        return self._row()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._row())

    def __len__(self) -> int:
        return len(self._row())


def _csv_rows(text: str, fields: TaskFields, needs: Needs) -> Iterator[tuple[int, Row]]:
    # The module's own limit on a cell is process-wide; this process parses nothing but task files.
    csv.field_size_limit(LARGEST_FILE)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not any(cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_header(line, header, fields, needs)
            elif len(cells) != len(header):
                yield line, _FaultyRow(f"this row has {len(cells)} cells and the header has {len(header)}")
            else:
                yield line, dict(zip(header, cells, strict=True))
    except csv.Error:
        raise _FileError(start, "this row is not valid CSV: look for a quote that is never closed, or for text after one") from None


class _FaultyRow(dict[str, object]):
    """A row that could not be read, with its fault."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault


def _needed(fields: TaskFields, needs: Needs) -> list[tuple[str, str | None]]:
    """The roles that every row has, with their columns."""
    roles: list[tuple[str, str | None]] = [("id", fields.id), ("prompt", fields.prompt)]
    if needs.answer:
        roles.append(("answer", fields.answer))
    if needs.tests:
        roles.append(("tests", fields.column("tests")))
    return roles


def _check_header(line: int, header: list[str], fields: TaskFields, needs: Needs) -> None:
    for role, name in _needed(fields, needs):
        if name not in header:
            raise _FileError(line, f'the header has no column "{name or role}"; another name goes under spec.fields.{role}')
    more = (fields.column("files"), fields.column("tests"), fields.column("solution"))
    for name in (fields.id, fields.prompt, fields.answer, fields.metadata, fields.split, *more):
        if name is not None and header.count(name) > 1:
            raise _FileError(line, f'the header has the column "{name}" twice')


_STANDARD_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "seq", "map")
)
_INT = re.compile(r"-?(0|[1-9][0-9]{0,300})")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]{1,300})?([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "~": None, "": None}


class _YAMLReader:
    """Nodes to JSON types. Scalars are read as JSON reads them, so that `no` and `1:30` stay the texts they look like."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def value(self, node: Any) -> object:
        line = node.start_mark.line + 1
        if id(node) in self._seen:
            raise _FileError(line, "anchors and aliases are not read in a task file: write the value out")
        self._seen.add(id(node))
        if node.tag not in _STANDARD_TAGS:
            raise _FileError(line, "tags are not read in a task file")
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each) for each in node.value]
        return self._scalar(node, line)

    def mapping(self, node: Any) -> dict[str, object]:
        made: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _FileError(key_node.start_mark.line + 1, "a field's name is not a text")
            if key_node.value in made:
                raise _FileError(key_node.start_mark.line + 1, "a field stands twice in this row")
            made[key_node.value] = self.value(value_node)
        return made

    def _scalar(self, node: Any, line: int) -> object:
        text = str(node.value)
        if node.style or node.tag == "tag:yaml.org,2002:str":
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            try:
                return _finite(text)
            except ValueError:
                raise _FileError(line, "a number is too large") from None
        return text


def _yaml_rows(text: str, _: TaskFields, __: Needs) -> Iterator[tuple[int, Row]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _FileError(mark.line + 1 if mark else 0, "the file is not valid YAML here, or has a second document") from None
    except yaml.YAMLError:
        raise _FileError(0, "the file is not valid YAML: it may hold a control character") from None
    except RecursionError:
        raise _FileError(0, "the file is nested too deeply") from None
    if root is None:
        return
    if not isinstance(root, yaml.SequenceNode):
        raise _FileError(root.start_mark.line + 1, "the file is not a list of tasks: each task starts with `- `")
    reader = _YAMLReader()
    try:
        for node in root.value:
            line = node.start_mark.line + 1
            row = reader.value(node)
            yield line, row if isinstance(row, dict) else _FaultyRow("this task is not a mapping of fields")
    except RecursionError:
        raise _FileError(0, "the file is nested too deeply") from None


def _parsed(line: int, row: Row, fields: TaskFields, needs: Needs, *, from_csv: bool) -> ParsedRow:
    if isinstance(row, _FaultyRow):
        raise _RowError(row.fault)
    for role, name in _needed(fields, needs):
        if name is None or name not in row:
            raise _RowError(f'there is no field "{name or role}"; another name goes under spec.fields.{role}')
    answer = row.get(fields.answer)
    if needs.answer and (answer is None or (isinstance(answer, str) and not answer.strip())):
        raise _RowError("the answer is empty")
    tests = _files(row, fields.column("tests"), "tests", from_csv=from_csv) if needs.tests else {}
    if needs.tests and not tests:
        raise _RowError("tests is empty: a pytest grader needs the hidden tests of each task")
    return ParsedRow(
        line=line,
        id=_id(row[fields.id]),
        split=_split(row.get(fields.split)),
        prompts=_prompts(row[fields.prompt]),
        metadata=_metadata(row.get(fields.metadata), from_csv=from_csv),
        answer=clean_value(answer),
        files=_files(row, fields.column("files"), "files", from_csv=from_csv),
        tests=tests,
        solution=_solution(row, fields.column("solution"), from_csv=from_csv) if needs.solution else None,
    )


def _files(row: Row, column: str | None, what: str, *, from_csv: bool) -> dict[str, str]:
    value = row.get(column) if column is not None else None
    if value is None or (from_csv and value == ""):
        return {}
    if from_csv:
        value = _decoded(str(value), what)
    try:
        return checked_files(clean_value(value), what)
    except ContentError as fault:
        raise _RowError(str(fault)) from None


def _solution(row: Row, column: str | None, *, from_csv: bool) -> dict[str, str] | str | None:
    value = row.get(column) if column is not None else None
    if isinstance(value, str) and not (from_csv and value.lstrip().startswith("{")):
        return clean_text(value) if value.strip() else None
    return None if value is None else _files(row, column, "solution", from_csv=from_csv)


def clean_value(value: object) -> object:
    """JSON types with every lone surrogate replaced."""
    match value:
        case str():
            return clean_text(value)
        case list():
            return [clean_value(each) for each in value]
        case dict():
            return {clean_text(str(key)): clean_value(each) for key, each in value.items()}
        case _:
            return value


def _id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _RowError("the id is neither a text nor a whole number")
    text = value.strip()
    if not text or len(text) > _LONGEST_ID or not text.isprintable():
        raise _RowError(f"the id is empty, longer than {_LONGEST_ID} letters, or has control characters")
    return text


def _split(value: object) -> str:
    if value is None or value == "":
        return "test"
    if isinstance(value, str) and value.strip() in SPLITS:
        return value.strip()
    raise _RowError("the split is neither train nor test")


def _prompts(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not texts or len(texts) > _MOST_TURNS:
        raise _RowError(f"the prompt is an empty list, or one of more than {_MOST_TURNS} texts")
    prompts = tuple(clean_text(text) for text in texts if isinstance(text, str) and text.strip())
    if len(prompts) != len(texts):
        raise _RowError("the prompt is empty, or not a text or a list of texts")
    return prompts


def _metadata(value: object, *, from_csv: bool) -> Mapping[str, object]:
    if value is None or (from_csv and value == ""):
        return {}
    if from_csv:
        value = _decoded(str(value), "the metadata")
    cleaned = clean_value(value)
    if not isinstance(cleaned, dict):
        raise _RowError("the metadata is not an object of fields")
    return cleaned
