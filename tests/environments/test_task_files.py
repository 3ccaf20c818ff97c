"""Task files: three formats, every fault by its line, and no sentence that quotes an answer."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_backend.environments.secret_tasks import SourceError, batch_digest
from local_backend.environments.task_file import parse
from local_backend.environments.task_file_source import TaskFileSource
from nodus_tui.contract.resources.environment import EnvironmentSpec, TaskFields

CANARY = "canary-7f3a"
EXACT = {"type": "exact"}


def source(path: Path, grader: dict[str, Any] | None = None, **spec: Any) -> TaskFileSource:
    checked = EnvironmentSpec.model_validate({"version": "1", "file": str(path), "grader": grader or EXACT, **spec})
    return TaskFileSource({"spec": checked.to_document()})


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


SAME_TASKS = {
    "tasks.jsonl": '\ufeff{"id": "a", "prompt": "One?", "answer": "1", "metadata": {"level": 2}, "other": "' + CANARY + '"}\n\n'
    '{"id": 7, "prompt": "Two?", "answer": "2", "split": "train"}\n',
    "tasks.csv": 'id,prompt,answer,metadata,split\na,One?,1,"{""level"": 2}",\n\n7,Two?,2,,train\n',
    "tasks.yaml": '- id: a\n  prompt: One?\n  answer: "1"\n  metadata: {level: 2}\n- {id: 7, prompt: Two?, answer: "2", split: train}\n',
}


@pytest.mark.parametrize("name", SAME_TASKS)
def test_the_three_formats_say_the_same(tmp_path: Path, name: str) -> None:
    made = source(written(tmp_path, name, SAME_TASKS[name]))
    reference = source(written(tmp_path, "reference.jsonl", SAME_TASKS["tasks.jsonl"]))
    assert made.describe() == reference.describe()
    assert made.describe()[0] == {"train": 1, "test": 1}
    assert [(task.id, task.prompts, task.metadata) for task in made.draw("test", 0, 1)] == [("a", ("One?",), {"level": 2})]
    assert [task.id for task in made.draw("train", 0, 1)] == ["7"]


def test_yaml_scalars_are_what_they_look_like(tmp_path: Path) -> None:
    rows = parse(
        str(
            written(
                tmp_path,
                "t.yaml",
                "\n".join(
                    f"- {{id: t{n}, prompt: p, answer: {v}}}"
                    for n, v in enumerate(["no", "1:30", "0123", "2024-01-01", "1e3", "true", "12", "-1.5", ".inf", "'5'", "!!str 5"])
                ),
            )
        ),
        "yaml",
        TaskFields(),
    )
    assert [row.answer for row in rows] == ["no", "1:30", "0123", "2024-01-01", "1e3", True, 12, -1.5, ".inf", "5", "5"]


def test_a_list_of_prompts_is_a_conversation(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", json.dumps({"id": "a", "prompt": ["Hello", "And now?"], "answer": "x"}))
    assert source(path).draw("test", 0, 1)[0].prompts == ("Hello", "And now?")


def test_other_column_names(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "key,question,gold\n1,What?,x\n")
    fields = {"id": "key", "prompt": "question", "answer": "gold"}
    assert source(path, fields=fields).draw("test", 0, 1)[0].prompts == ("What?",)


def test_lone_surrogates_are_cleaned(tmp_path: Path) -> None:
    path = written(
        tmp_path, "t.jsonl", '{"id": "a", "prompt": "x \\ud800 \\ud83d\\ude00", "answer": "\\udfff", "metadata": {"k\\ud800": ["\\ud800"]}}'
    )
    task = source(path).draw("test", 0, 1)[0]
    assert (task.prompts, task.metadata, task.secret) == (("x \ufffd 😀",), {"k\ufffd": ["\ufffd"]}, "\ufffd")


ROW = '{"id": "a", "prompt": "p", "answer": "' + CANARY + '"}\n'
FAULTS = [
    ("t.jsonl", "", [], "no rows"),
    ("t.jsonl", "\n \n", [], "no rows"),
    ("t.jsonl", ROW + "{" + CANARY, [2], "not valid JSON"),
    ("t.jsonl", f'["{CANARY}"]', [1], "not a JSON object"),
    ("t.jsonl", '{"id": "a", "prompt": "p"}', [1], 'no field "answer"'),
    ("t.jsonl", '{"id": "a", "answer": "' + CANARY + '"}', [1], 'no field "prompt"'),
    ("t.jsonl", '{"prompt": "p", "answer": "' + CANARY + '"}', [1], 'no field "id"'),
    ("t.jsonl", '{"id": "a", "prompt": "p", "answer": null}', [1], "answer is empty"),
    ("t.jsonl", '{"id": "a", "prompt": "p", "answer": " "}', [1], "answer is empty"),
    ("t.jsonl", '{"id": "a", "prompt": "p", "answer": NaN}', [1], "not valid JSON"),
    ("t.jsonl", '{"id": "a", "prompt": "p", "answer": 1e999}', [1], "not valid JSON"),
    ("t.jsonl", '{"id": "a", "prompt": "p", "answer": ' + "[" * 100_000, [1], "not valid JSON"),
    ("t.jsonl", '{"id": "a", "prompt": "p", "answer": "' + CANARY + '", "answer": "x"}', [1], "stands twice"),
    ("t.jsonl", ROW + ROW, [2], "already used on line 1"),
    ("t.jsonl", ROW.replace('"a"', '""'), [1], "id is empty"),
    ("t.jsonl", ROW.replace('"a"', '"a\\u001b"'), [1], "control characters"),
    ("t.jsonl", ROW.replace('"a"', "true"), [1], "neither a text nor a whole number"),
    ("t.jsonl", ROW.replace('"p"', '""'), [1], "prompt is empty"),
    ("t.jsonl", ROW.replace('"p"', "[]"), [1], "empty list"),
    ("t.jsonl", ROW.replace('"p"', '["p", 5]'), [1], "prompt is empty, or not"),
    ("t.jsonl", ROW.replace("}", ', "split": "' + CANARY + '"}'), [1], "neither train nor test"),
    ("t.jsonl", ROW.replace("}", ', "metadata": "' + CANARY + '"}'), [1], "not an object"),
    ("t.jsonl", b'{"id": "a"}\n\xff\xfe', [2], "not UTF-8"),
    ("t.csv", f"{CANARY},p,x\n", [1], 'no column "id"'),
    ("t.csv", f"id,prompt,answer\na,p,{CANARY},more\nb,p\n", [2, 3], "cells"),
    ("t.csv", f'id,prompt,answer\na,"p,{CANARY}\n', [2], "quote"),
    ("t.csv", f"id,prompt,answer\na,p,{CANARY}\n\nb,p,x\na,q,y\n", [5], "already used on line 2"),
    ("t.csv", f"id,prompt,answer,answer\na,p,x,{CANARY}\n", [1], "twice"),
    ("t.csv", f"id,prompt,answer,metadata\na,p,x,{CANARY}\n", [2], "metadata is not valid JSON"),
    ("t.csv", "id,prompt,answer\n", [], "no rows"),
    ("t.yaml", "", [], "no rows"),
    ("t.yaml", f"id: {CANARY}\n", [1], "not a list"),
    ("t.yaml", f"- {CANARY}\n", [1], "not a mapping"),
    ("t.yaml", f"- id: a\n  prompt: p\n   answer: {CANARY}\n", [3], "not valid YAML"),
    ("t.yaml", f"- &{CANARY} {{id: a}}\n- *{CANARY}\n", [1], "no field"),
    ("t.yaml", f"- id: &x a\n  prompt: *x\n  answer: {CANARY}\n", [1], "aliases"),
    ("t.yaml", f"- id: a\n  prompt: p\n  answer: !{CANARY} 5\n", [3], "tags"),
    ("t.yaml", f"- !!python/object:{CANARY} {{}}\n", [1], "tags"),
    ("t.yaml", f"- id: a\n  id: {CANARY}\n", [2], "stands twice"),
    ("t.yaml", "- id: a\n---\n- id: b\n", [2], "second document"),
    ("t.yaml", "- \x07\n", [0], "control character"),
    ("t.yaml", "[" * 20_000, [], "not valid YAML"),
    ("t.yaml", f"- {'[' * 900}{']' * 900}", [], "nested too deeply"),
]


@pytest.mark.parametrize(("name", "content", "lines", "words"), FAULTS)
def test_faults_have_their_lines_and_quote_nothing(tmp_path: Path, name: str, content: str | bytes, lines: list[int], words: str) -> None:
    with pytest.raises(SourceError) as caught:
        source(written(tmp_path, name, content))
    told = caught.value
    text = " ".join([told.sentence, *(sentence for _, sentence in told.faults)])
    assert [line for line, _ in told.faults][: len(lines)] == lines
    assert words in text
    assert CANARY not in text
    assert CANARY not in str(told)


def test_all_faults_come_at_once_up_to_a_limit(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        source(written(tmp_path, "t.jsonl", "{}\n" * 60))
    assert len(caught.value.faults) == 50
    assert "may be more" in caught.value.sentence


def test_answers_that_the_grader_cannot_read_are_told_by_line(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", ROW + ROW.replace('"a"', '"b"').replace(f'"{CANARY}"', "5"))
    with pytest.raises(SourceError) as caught:
        source(path, {"type": "numeric"})
    assert caught.value.faults == ((1, "the answer is not one number"),)
    assert "1 of the file's answers" in caught.value.sentence


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(5 * 2**20)
    for path, words in [
        (tmp_path / "missing.jsonl", "does not exist"),
        (tmp_path, "folder"),
        (tmp_path / "pipe.jsonl", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (tmp_path / "nul\0.jsonl", "path is not valid"),
        (big, "larger than 4 MiB"),
    ]:
        with pytest.raises(SourceError, match=words):
            source(path, format="yaml" if path.suffix == ".yaml" else "jsonl")
    with pytest.raises(SourceError, match=r"spec\.format"):
        source(written(tmp_path, "tasks.txt", ROW))


def rows_text(count: int) -> str:
    return "".join(json.dumps({"id": f"t{n}", "prompt": f"{n}?", "answer": str(n)}) + "\n" for n in range(count))


def test_order_is_by_seed_and_id_and_not_by_the_files_order(tmp_path: Path) -> None:
    text = rows_text(20)
    forward = source(written(tmp_path, "a.jsonl", text))
    backward = source(written(tmp_path, "b.jsonl", "\n".join(reversed(text.splitlines()))))
    order = [task.id for task in forward.draw("test", 0, 20)]
    assert order == [task.id for task in backward.draw("test", 0, 20)]
    assert order != [f"t{n}" for n in range(20)]
    assert order != [task.id for task in forward.draw("test", 1, 20)]
    assert order[:5] == [task.id for task in forward.draw("test", 0, 5)]
    assert order[:5] == ["t0", "t7", "t5", "t16", "t17"]
    assert forward.describe() == backward.describe()


@pytest.mark.parametrize(
    "change",
    [("3?", "3!"), ('"answer": "3"', '"answer": "33"'), ('"answer": "3"', '"metadata": {"a": 1}, "answer": "3"'), ('"t3"', '"t33"')],
)
def test_the_digest_covers_prompts_answers_metadata_and_ids(tmp_path: Path, change: tuple[str, str]) -> None:
    before = source(written(tmp_path, "a.jsonl", rows_text(5)))
    after = source(written(tmp_path, "b.jsonl", rows_text(5).replace(*change)))
    assert before.describe()[1] != after.describe()[1]
    assert batch_digest(before, before.draw("test", 0, 5)) != batch_digest(after, after.draw("test", 0, 5))


def test_the_digest_covers_the_grader(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", rows_text(5))
    assert source(path).describe() != source(path, {"type": "exact", "ignore_case": True}).describe()


def test_more_tasks_than_there_are(tmp_path: Path) -> None:
    made = source(written(tmp_path, "a.jsonl", rows_text(3)))
    with pytest.raises(SourceError, match="the split test has 3 tasks and 4 were asked for"):
        made.draw("test", 0, 4)
    with pytest.raises(SourceError, match="the split train has 0 tasks"):
        made.draw("train", 0, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(content=st.binary(max_size=300), form=st.sampled_from(["jsonl", "csv", "yaml"]))
def test_any_bytes_are_rows_or_faults(tmp_path: Path, content: bytes, form: str) -> None:
    path = written(tmp_path, "fuzz", content)
    with suppress(SourceError):
        parse(str(path), form, TaskFields())
