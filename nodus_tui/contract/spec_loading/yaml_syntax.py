"""What PyYAML says about broken syntax, in sentences that say what to do."""

import re
from collections.abc import Sequence

import yaml

from nodus_tui.contract.wording import escaped, quoted

_NEVER_CLOSED = {"[": "a list is opened with [ here and never closed", "{": "a mapping is opened with { here and never closed"}
_SENTENCES = (
    ("mapping values are not allowed here", 'no ":" can stand here: check the indentation, or put a text that holds ": " in quotes'),
    ("could not find expected ':'", 'a ":" is missing after this key, or this line is not indented like the ones around it'),
    ("expected <block end>", "this does not fit the lines above: check the indentation, and the quotes before it"),
    ("expected ',' or", "a comma or the closing bracket is missing before this"),
    (
        "expected '<document start>'",
        'this does not belong to the document above: check the indentation, or put "---" before it',
    ),
    ("found unknown escape character", "this escape is not known; a backslash in double quotes is written twice"),
    ("expected escape sequence of", "this escape is not complete"),
    ("found unexpected end of stream", "the text ends too early"),
    ("found undefined alias", "aliases are not used in specs; write the value out"),
    ("found duplicate anchor", "anchors are not used in specs; write the value out"),
    ("found undefined tag handle", "tags are not used in specs; write the plain value"),
    ("found unexpected document separator", "the quoted text is not closed before the next document"),
    ("sequence entries are not allowed here", 'no "- " can stand here: check the indentation, or begin the list on its own line'),
    ("block sequence entries are not allowed", 'no "- " can stand here: check the indentation, or begin the list on its own line'),
    ("expected the node content", "a value is missing here"),
    ("while scanning a block scalar", 'after "|" or ">" only + or - and a digit can stand'),
)

INDENTED_MARK = '"---" begins a document only where no space stands before it: remove the spaces'
_INDENTED = re.compile(r"^[ \t]+(---)[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)


def indented_mark(text: str, start: int, end: int) -> int | None:
    """The index of a `---` that stands alone but indented on one of the lines of this part of a text; None where there is none."""
    found = _INDENTED.search(text, _line_start(text, start))
    return found.start(1) if found is not None and found.start() <= end else None


def syntax_message(error: yaml.MarkedYAMLError, text: str, collections: Sequence[int]) -> tuple[str, int]:
    """A sentence about a syntax error, and the index in the text where it stands.

    `collections` are the indices at which the collections begin that are open there, the innermost last.
    """
    mark = error.problem_mark or error.context_mark
    index = mark.index if mark is not None else 0
    opened = error.context_mark.index if error.context_mark is not None else index
    for place in (opened, index):
        if (dashes := indented_mark(text, place, place)) is not None:
            return INDENTED_MARK, dashes
    return _message(error, text, collections, index, opened)


def _message(error: yaml.MarkedYAMLError, text: str, collections: Sequence[int], index: int, opened: int) -> tuple[str, int]:
    problem = str(error.problem or "")
    at_end = index >= len(text.rstrip())
    if text[index : index + 1] == "\t" or _tab_in_indentation(text, index):
        return "a tab stands here; YAML is indented and separated with spaces", text.index("\t", _line_start(text, index))
    if at_end and str(error.context) == "while scanning a quoted scalar":
        return "a quotation mark is opened here and never closed", opened
    if at_end and collections and text[collections[-1]] in _NEVER_CLOSED:
        return _NEVER_CLOSED[text[collections[-1]]], collections[-1]
    if problem.endswith("that cannot start any token"):
        return f"a text cannot begin with {quoted(text[index : index + 1])}: put it in quotes", index
    for known, sentence in _SENTENCES:
        if known in problem or known == error.context:
            return sentence, index
    return f"this is not YAML: {escaped(problem)}", index


def _line_start(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def _tab_in_indentation(text: str, index: int) -> bool:
    line = text[_line_start(text, index) :].split("\n", 1)[0]
    return "\t" in line[: len(line) - len(line.lstrip())]
