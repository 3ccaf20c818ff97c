"""The safe YAML reader: values, places, and a fault for everything that a spec may not hold."""

import pytest

from nodus_tui.contract.spec_loading.bundle import Position
from nodus_tui.contract.spec_loading.scalars import SourceFloat, resolve_plain
from nodus_tui.contract.spec_loading.yaml_reader import MAX_DEPTH, MAX_DOCUMENTS, MAX_READING_FAULTS, MAX_VALUES, read_documents
from nodus_tui.contract.spec_loading.yaml_text import MAX_BYTES


def values(text: str) -> list[object]:
    read = read_documents(text.encode(), "a.yaml")
    assert read.faults == ()
    return [document.value for document in read.documents]


def told(text: str | bytes) -> list[tuple[int, int, str, str]]:
    read = read_documents(text.encode() if isinstance(text, str) else text, "a.yaml")
    assert {fault.file for fault in read.faults} <= {"a.yaml"}
    return [(fault.line, fault.column, fault.path, fault.message) for fault in read.faults]


def test_plain_values():
    assert values("a: 1\nb: [x, true, null, -3]\nc: {d: 'e'}\n") == [{"a": 1, "b": ("x", True, None, -3), "c": {"d": "e"}}]


@pytest.mark.parametrize(
    "text",
    [
        *("on", "off", "yes", "no", "y", "N", "1:30", "190:20:30", "010", "0o17", "0x1F", "0b1", "1_000", "2024-01-01", ".inf", ".nan"),
        *("=", "01.5", "1.2.3", "tRue", "nULL", "+", "-", ".", "1e", "--1"),
    ],
)
def test_the_surprises_of_yaml_stay_text(text):
    assert resolve_plain(text) == text
    if text not in {"=", "-"}:
        assert values(f"a: {text}") == [{"a": text}]


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("-7", -7), ("+5", 5), ("1.50", 1.5), (".5", 0.5), ("1e3", 1000.0), ("2.", 2.0)])
def test_decimal_numbers_are_numbers(text, value):
    found = resolve_plain(text)
    assert found == value
    assert type(found) is (SourceFloat if isinstance(value, float) else int)


def test_a_float_keeps_its_text():
    (document,) = values("a: 0.10\n")
    assert isinstance(document, dict)
    assert document["a"].text == "0.10"


def test_quotes_make_text_of_anything():
    assert values("""a: "1"\nb: 'true'\nc: "null"\n""") == [{"a": "1", "b": "true", "c": "null"}]


def test_places_of_values_items_and_keys():
    read = read_documents(b"a: 1\nb:\n  - x\n  - c:  2\n---\nd: |\n  text\n", "a.yaml")
    first, second = read.documents
    assert first.positions == {
        (): Position(1, 1),
        ("a",): Position(1, 4),
        ("b",): Position(3, 3),
        ("b", 0): Position(3, 5),
        ("b", 1): Position(4, 5),
        ("b", 1, "c"): Position(4, 9),
    }
    assert first.key_positions == {("a",): Position(1, 1), ("b",): Position(2, 1), ("b", 1, "c"): Position(4, 5)}
    assert second.positions == {(): Position(6, 1), ("d",): Position(6, 4)}
    assert (first.index, second.index) == (0, 1)


def test_columns_count_characters_and_lines_count_as_editors_do():
    read = read_documents("\ufeffé: ü\r\nb: 'x\u2028y'\r\nc: 1".encode(), "a.yaml")
    assert read.faults == ()
    assert read.documents[0].positions[("é",)] == Position(1, 4)
    assert read.documents[0].positions[("c",)] == Position(3, 4)


def test_empty_documents_do_not_count():
    assert values("---\n---\n# nothing\n---\na: 1\n---\n...\n---\nnull\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "%YAML 1.2\n---\n", "\ufeff"])
def test_a_file_without_documents(text):
    assert values(text) == []


def test_three_dashes_in_a_text_are_text():
    assert values("a: |\n  x\n  ---\n  y\nb: 'x\n  ---\n  y'\nc: x --- y") == [{"a": "x\n---\ny\n", "b": "x --- y", "c": "x --- y"}]


def test_a_yaml_version_line_is_allowed():
    assert values("# spec\n%YAML 1.2\n---\na: 1\n") == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "line", "column", "path", "message"),
    [
        ("a:\n\tb: 1", 2, 1, "", "a tab stands here; YAML is indented and separated with spaces"),
        ("a:\tb", 1, 3, "", "a tab stands here; YAML is indented and separated with spaces"),
        ("a:\n  b: 1\n \tc: 2", 3, 2, "", "a tab stands here; YAML is indented and separated with spaces"),
        ("a: b: c", 1, 5, "", 'no ":" can stand here: check the indentation, or put a text that holds ": " in quotes'),
        ("x: 1\na: [1,\n  2\n", 2, 4, "", "a list is opened with [ here and never closed"),
        ("a: {b: 1", 1, 4, "", "a mapping is opened with { here and never closed"),
        ("a: 'x\n\ny: 2\n", 1, 4, "", "a quotation mark is opened here and never closed"),
        ("a: 1\n---\nb:\n  c: 1\n  ---\nd: 2", 5, 3, "", '"---" begins a document only where no space stands before it: remove the spaces'),
        ("a: {b: 1}\n ---\nc: 2", 2, 2, "", '"---" begins a document only where no space stands before it: remove the spaces'),
        ("a: x\n   ---\nb: 2", 2, 4, "a", '"---" begins a document only where no space stands before it: remove the spaces'),
        ("a:\r\n  ---  # next\r\nb: 2", 2, 3, "a", '"---" begins a document only where no space stands before it: remove the spaces'),
        ("a: @x", 1, 4, "", 'a text cannot begin with "@": put it in quotes'),
        ("a: 'x' y", 1, 8, "", "this does not fit the lines above: check the indentation, and the quotes before it"),
        ('a: "\\q"', 1, 6, "", "this escape is not known; a backslash in double quotes is written twice"),
        ('a: "\\U00110000"', 1, 5, "", "\\U00110000 is no character"),
        ("%FOO 1\n%YAML 9999999.1\n---\na: 1", 2, 1, "", "this is not YAML: found incompatible YAML document (version 1.* is required)"),
        ("a: 1\na: 2", 2, 1, "a", 'the key "a" stands here twice; the first is in line 1'),
        ("a: {b: 1, b: 2}", 1, 11, "a.b", 'the key "b" stands here twice; the first is in line 1'),
        ("1: x", 1, 1, "", 'the key "1" is no text: put it in quotes'),
        ("true: x", 1, 1, "", 'the key "true" is no text: put it in quotes'),
        ("a:\n  ? \n  : x", 2, 4, "a", 'a key is missing before this ":"'),
        ("? [a, {b: c}]\n: {d: e}\nf: 1", 1, 3, "", "a key is plain text here, not a list, a mapping, an alias or a tagged value"),
        ("a: &x 1\nb: [*x]", 2, 5, "b[0]", 'the alias "*x" is not used in specs; write the value out'),
        ("a: *nowhere", 1, 4, "a", 'the alias "*nowhere" is not used in specs; write the value out'),
        ("a: {<<: {b: 1}}", 1, 5, "a", 'the merge key "<<" is not used in specs; write the fields out'),
        ("a: !foo 1", 1, 4, "a", 'the tag "!foo" is not used in specs; write the plain value'),
        ("a: !!python/name:os.system {}", 1, 4, "a", 'the tag "!!python/name:os.system" is not used in specs; write the plain value'),
        ("a: !!int '1'", 1, 4, "a", 'the tag "!!int" is not used in specs; write the plain value'),
        ('a: "x\\0y"', 1, 4, "a", 'the text "x\\x00y" holds a NUL or half a surrogate pair'),
        ('a: "\\ud800"', 1, 4, "a", 'the text "\\ud800" holds a NUL or half a surrogate pair'),
        ('"\\ud800": 1', 1, 1, "", 'the key "\\ud800" holds a NUL or half a surrogate pair'),
        ("a: 1e999", 1, 4, "a", "1e999 is too large a number"),
        ("a: " + "9" * 101, 1, 4, "a", "the number has 101 characters; a number has at most 100"),
        ("a: x\0", 1, 5, "", "the file holds a NUL character: it is no text, or not UTF-8"),
        (
            "a: 1\nb: \x1b[2J",
            2,
            4,
            "",
            'the character U+001B cannot stand in a spec; in double quotes it is written as an escape, such as "\\x1b"',
        ),
    ],
)
def test_what_a_spec_may_not_hold(text, line, column, path, message):
    assert told(text) == [(line, column, path, message)]


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a: 1\nb: \xe9", 2, 4, "byte 0xe9 at offset 8 is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfa: 1\r\nb: \xe9", 2, 4, "byte 0xe9 at offset 12 is not UTF-8; save the file as UTF-8"),
        ("a: ü".encode() + b"\xff", 1, 5, "byte 0xff at offset 5 is not UTF-8; save the file as UTF-8"),
        ("a: 1".encode("utf-16"), 1, 1, "the file is UTF-16, not UTF-8; save it as UTF-8"),
        (b"#" * (MAX_BYTES + 1), 1, 1, "the file is larger than 1,024 KiB, the most that a spec may have"),
    ],
)
def test_what_is_no_text(data, line, column, message):
    assert told(data) == [(line, column, "", message)]


def test_a_fault_in_one_document_spares_the_others():
    read = read_documents(b"a: [1\n---\nb: 2\n---\n\tc\n---\nd: 4\n", "a.yaml")
    assert [(document.index, document.broken, document.value) for document in read.documents] == [
        (0, True, None),
        (1, False, {"b": 2}),
        (2, True, None),
        (3, False, {"d": 4}),
    ]
    assert [(fault.document, fault.line) for fault in read.faults] == [(0, 1), (2, 5)]


def test_what_stands_after_a_refused_key_or_value_is_still_read():
    read = read_documents(b"? {a: [b]}\n: [c, {d: e}]\nf: *x\nf: [1, {g: h}]\ni: {j: 1}\n", "a.yaml")
    assert [document.value for document in read.documents] == [{"f": None, "i": {"j": 1}}]
    assert [fault.line for fault in read.faults] == [1, 3, 4]


@pytest.mark.parametrize(
    "text", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000, "? " * 10_000, "\n".join(f"{' ' * n}a:" for n in range(300))]
)
def test_deep_documents_are_refused_without_recursion(text):
    assert [fault[3] for fault in told(text)][-1] == f"lists and mappings lie more than {MAX_DEPTH} deep in each other"


def test_the_deepest_document():
    assert read_documents(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "a.yaml").faults == ()
    assert len(read_documents(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "a.yaml").faults) == 1


def test_too_many_documents():
    text = "a: 1\n" + "---\na: 1\n" * (MAX_DOCUMENTS - 1)
    assert len(values(text)) == MAX_DOCUMENTS
    ((line, _, _, message),) = told(text + "---\nb: 1\n---\nc: 1\n")
    assert (line, message) == (2 * MAX_DOCUMENTS, "the file has more than 1,000 documents")


def test_too_many_values():
    ((_, _, _, message),) = told("a: [" + "1," * MAX_VALUES + "]\n---\nb: [\n")
    assert message == "the file has more than 100,000 values"


def test_a_bomb_of_aliases_is_refused_and_never_expanded():
    bomb = "a0: &a0 [x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    read = read_documents(bomb.encode(), "a.yaml")
    assert len(read.faults) == 11 * 9
    assert all("is not used in specs" in fault.message for fault in read.faults)
    assert read.documents[0].value == {"a0": ("x", "x", "x"), **{f"a{n}": (None,) * 9 for n in range(1, 12)}}


def test_a_file_full_of_faults_is_not_read_to_its_end():
    faults = told("a: [" + "*x, " * 50_000 + "]")
    assert len(faults) == MAX_READING_FAULTS + 1
    assert faults[-1][3] == "the rest of the file is not read: it has too many faults already"
