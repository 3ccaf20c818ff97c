"""Markdown as lines: what people read, whatever a model wrote, and nothing left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodus_tui.view_state.cells import Line, Tone, cut_line, line_width, plain
from nodus_tui.view_state.code_colours import MAX_CODE, code_lines
from nodus_tui.view_state.markdown import code_blocks, markdown_lines
from nodus_tui.view_state.markdown_pieces import MARKDOWN_LIMIT, markdown_pieces, piece_lines


def texts(lines: list[Line]) -> list[str]:
    return [plain(each) for each in lines]


def tones(lines: list[Line], words: str) -> set[Tone]:
    return {span.tone for each in lines for span in each if words in span.text}


def test_blocks_are_shown_as_people_read_them() -> None:
    text = "# Head\nwords *here* and\n**there** `code`\n\n3. three\n4. four\n   - inner\n\n> quoted\n\n---\nend"
    lines = markdown_lines(text, 40)
    assert texts(lines) == [
        "Head",
        "",
        "words here and there `code`",
        "",
        "3. three",
        "4. four",
        "   - inner",
        "",
        "│ quoted",
        "",
        "─" * 40,
        "",
        "end",
    ]
    assert tones(lines, "Head") == {Tone.TITLE}
    assert tones(lines, "there") == {Tone.STRONG}
    assert tones(lines, "`code`") == {Tone.INFO}


def test_items_go_on_below_their_words() -> None:
    assert texts(markdown_lines("- one two three four five six", 16)) == ["- one two three", "  four five six"]


def test_code_keeps_its_spaces_and_says_its_language() -> None:
    lines = markdown_lines("```python\ndef f():\n    return 'x'  # why\n```", 60)
    assert texts(lines) == ["┌ python", "│ def f():", "│     return 'x'  # why"]
    assert tones(lines, "def") == {Tone.KEY}
    assert tones(lines, "# why") == {Tone.MUTED}
    assert texts(markdown_lines("```\na  b\n```", 60)) == ["│ a  b"]
    assert texts(markdown_lines("```sh\n" + "x" * 50 + "\n```", 32))[1:] == ["│ " + "x" * 30, "│ " + "x" * 20]


def test_tables_stand_in_columns_and_give_way_where_they_are_wide() -> None:
    text = "| a | what |\n|---|------|\n| 1 | some words that take their room |\n| 22 | x |"
    assert texts(markdown_lines(text, 60)) == [
        "a   what",
        "──  ───────────────────────────────",
        "1   some words that take their room",
        "22  x",
    ]
    narrow = texts(markdown_lines(text, 20))
    assert narrow[2:5] == ["1   some words that", "    take their room", "22  x"]
    assert all(len(each) <= 20 for each in narrow)
    assert "what" in texts(markdown_lines(text, 6))


def test_links_and_images_are_words_with_their_addresses() -> None:
    lines = markdown_lines('[here](http://a.b "why") <http://c.d> ![x](i.png)', 80)
    assert texts(lines) == ['here (http://a.b "why") http://c.d [image: x] (i.png)']
    assert not any(span.does for each in lines for span in each)


HIDING = {
    "definition": "[secret]: http://words.of/it (more)",
    "comment": "[//]: # (said to nobody)",
    "html": "<!-- html comment --><script>alert(1)</script>",
    "deep quote": "> " * 300 + "deep words",
    "deep list": "\n".join("  " * depth + f"- item{depth}" for depth in range(60)),
    "entity": "&#27;[31m &lt;b&gt; &amp;amp;",
    "info": "```python title here\nx\n```",
}


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING.keys())
def test_nothing_is_hidden(text: str) -> None:
    shown = "".join(texts(markdown_lines(text, 70)))
    for word in "".join(char if char.isalnum() else " " for char in text).split():
        assert word in shown.replace(" ", "") or word in shown


CONTROLS = "\x1b]52;c;ZXZpbA==\x07 [@click=app.quit]x[/] \u202eabc \x9b31m"


def test_what_a_terminal_obeys_is_shown_instead() -> None:
    for text in (CONTROLS, f"# {CONTROLS}", f"```{CONTROLS}\n{CONTROLS}\n```", f"| {CONTROLS} |\n|--|\n| {CONTROLS} |", f"[a]({CONTROLS})"):
        shown = "".join(texts(markdown_lines(text, 60)))
        assert shown.isprintable()
        assert "[@click=app.quit]" in "".join(shown.split("│ ")).replace(" ", "") or "%5B" in shown


ATTACKS = {
    "brackets": "[" * 8000,
    "emphasis": "*a_" * 2700,
    "quotes": "> " * 4000,
    "backticks": "".join("`" * size + "a" for size in range(1, 120)),
    "bullets": "- " * 4000,
    "columns": "|a" * 2000 + "|\n" + "|-" * 2000 + "|\n" + "|b" * 2000 + "|",
    "links": "[a](<b" * 1300,
    "images": "![[" * 2600,
    "wide": "漢" * 4000,
    "one word": "x" * 8000,
    "json": "```json\n" + '{"a":' * 1500 + "\n```",
    "cpp": "```cpp\n" + "(" * 7900 + "\n```",
    "python": "```python\n" + "'''" * 2500 + "\n```",
}


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())
def test_texts_made_to_take_for_ever_end_and_fit(text: str) -> None:
    assert all(line_width(each) <= 78 for each in markdown_lines(text, 78))


@given(st.text(), st.integers(min_value=2, max_value=100))
def test_any_text_becomes_lines_that_fit_and_obey_nothing(text: str, width: int) -> None:
    for each in markdown_lines(text, width):
        assert plain(cut_line(each, 200)).isprintable()
        assert line_width(each) <= max(width, 14)


_MARKS = st.text(st.sampled_from("#*_`[]()<>|-+~>1.\n \\!&;ab:\t"), max_size=120)


@given(_MARKS)
def test_no_letter_of_any_markup_is_lost(text: str) -> None:
    shown = "".join(texts(markdown_lines(text, 60)))
    assert sum(char in "ab" for char in shown) >= sum(char in "ab" for char in text)


def test_only_known_languages_are_coloured_and_nothing_of_the_code_changes() -> None:
    for label in ("python", "json", "no-such-language", ""):
        code = '{"a": 1}\n\n  x = "\u2028"\n'
        assert ["".join(span.text for span in each) for each in code_lines(code, label)] == code.split("\n")
    assert {span.tone for each in code_lines("x = 1\n" * MAX_CODE, "python") for span in each} == {Tone.PLAIN}


def test_code_for_the_clipboard_is_as_it_was_written() -> None:
    assert code_blocks("a\n```make\nall:\n\tcc *.c\n```\nb\n\n    indented\n") == ["all:\n\tcc *.c\n", "indented\n"]


def rejoined(text: str) -> str:
    return "".join("".join(piece.text.split()) for piece in markdown_pieces(text))


def test_a_long_message_is_cut_between_its_blocks() -> None:
    block = "Words of a paragraph.\n" * 30 + "\n"
    text = block * 20 + "```python\n" + "x = 1\n" * 100 + "```\n\n" + block
    pieces = list(markdown_pieces(text))
    assert len(pieces) > 4
    assert {piece.kind for piece in pieces} == {"markdown"}
    assert sum("```" in piece.text for piece in pieces) == 1
    assert rejoined(text) == "".join(text.split())


def test_code_that_is_too_long_stays_code_in_each_of_its_pieces() -> None:
    pieces = list(markdown_pieces("before\n\n```\n" + "x = 1\n" * 5000 + "```\n\nafter\n"))
    assert [piece.kind for piece in pieces if "x = 1" in piece.text] == ["code"] * (len(pieces) - 1)
    assert plain(piece_lines(pieces[1], 40)[0]) == "│ x = 1"


def test_what_is_no_reply_that_a_person_reads_is_not_read_as_markdown() -> None:
    for text in ("word " * MARKDOWN_LIMIT, "x" * 10_000_000):
        pieces = list(markdown_pieces(text))
        assert {piece.kind for piece in pieces} == {"text"}
        assert sum(len(piece.text) for piece in pieces) == len(text)
    assert {piece.kind for piece in markdown_pieces("x" * 100_000)} == {"text"}
