"""The real reasoning-gym package in the grader's process."""

import asyncio
import importlib.metadata
import importlib.util
import os
import random
import re
from pathlib import Path

import pytest
from environment_builders import no_own, resolve

from local_backend.environments import reasoning_gym_names as names
from local_backend.environments.catalogue import EnvironmentCatalogue
from local_backend.environments.client import EnvironmentWorker
from local_backend.environments.reasoning_gym_source import _EXPRESSION, split_seed
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.phases import Verdict
from nodus_tui.contract.simulation import REFERENCE_PLACEHOLDER, WRONG_PLACEHOLDER


def _installed() -> bool:
    try:
        return importlib.metadata.version("reasoning-gym") == names.VERSION
    except importlib.metadata.PackageNotFoundError:
        return False


@pytest.fixture
def package() -> Path:
    """The installed package's folder."""
    if not _installed():
        sentence = f"reasoning-gym {names.VERSION} is not installed: {names.INSTALL_HINT}"
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    spec = importlib.util.find_spec("reasoning_gym")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


async def start(dataset: str, *, split: str = "test", seed: int = 0, tasks: int = 5) -> EnvironmentWorker:
    return await EnvironmentWorker.start(resolve(f"reasoning-gym/{dataset}@{names.VERSION}"), split=split, seed=seed, tasks=tasks)


DIGESTS = {
    ("chain_sum", "test", 0): "sha256:aa2e06af6d60d7aca64e8c40442b6b53bb308bc55ee2c078a3b0e5e00a2c7cfe",
    ("chain_sum", "train", 3): "sha256:0cdd9543003b69dc9898dbc1e2d984826b5af91cbbf63043c226b6a3c90f8b7b",
    ("list_functions", "test", 0): "sha256:ac89705f369467f8153806b1d960d0bbe8f787c6b093cc3515ae680d88b01a19",
    ("knights_knaves", "test", 1): "sha256:1b4de04a2a32084ef3e7464fe34dbefba0522b7d4caf9bb25e370975ae944074",
}


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(("dataset", "split", "seed"), DIGESTS)
async def test_tasks_and_grader_of_a_seed_never_change(dataset: str, split: str, seed: int) -> None:
    async with await start(dataset, split=split, seed=seed, tasks=20) as worker:
        assert worker.batch.digest == DIGESTS[dataset, split, seed]
        assert len(worker.batch.tasks) == 20


@pytest.mark.usefixtures("package")
async def test_splits_are_disjoint_prefixes_stable_and_metadata_tells_no_answer() -> None:
    async with (
        await start("shortest_path", tasks=30) as test,
        await start("shortest_path", tasks=4) as few,
        await start("shortest_path", split="train", tasks=30) as train,
    ):
        assert few.batch.tasks == test.batch.tasks[:4]
        assert not {task.prompts for task in test.batch.tasks} & {task.prompts for task in train.batch.tasks}
        assert not {task.id for task in test.batch.tasks} & {task.id for task in train.batch.tasks}
        assert {tuple(sorted(task.metadata)) for task in test.batch.tasks} == {("category", "dataset")}


def test_no_two_splits_or_seeds_share_a_task_seed() -> None:
    seeds = [split_seed(split, seed) for split in ("train", "test") for seed in (0, 1, 2, 2**31 - 1)]
    gaps = [second - first for first, second in zip(sorted(seeds), sorted(seeds)[1:], strict=False)]
    assert min(gaps) > names.SIZE


def test_different_task_seeds_make_different_random_numbers() -> None:
    starts = [split_seed(split, seed) for split in ("train", "test") for seed in range(5)]
    assert len({random.Random(start + index).random() for start in starts for index in range(names.SIZE)}) == len(starts) * names.SIZE


@pytest.mark.usefixtures("package")
async def test_the_packages_own_score_decides() -> None:
    async with await start("chain_sum") as worker:
        task = worker.batch.tasks[0]
        expression = re.search(r"problem: ([\d +-]+) =", task.prompts[0])
        assert expression is not None
        right = eval(expression[1])
        for completion, verdict in [
            (f"<answer>{right}</answer>", Verdict.CORRECT),
            (f"First <answer>1</answer>, no: <answer> {right} </answer>.", Verdict.CORRECT),
            (f"{right}", Verdict.CORRECT),
            (f"<answer>{right + 1}</answer>", Verdict.INCORRECT),
            ("<answer> </answer>", Verdict.INVALID_OUTPUT),
            ("", Verdict.INVALID_OUTPUT),
        ]:
            assert (await worker.grade(task.id, completion)).verdict is verdict
        partly = await worker.grade(task.id, f"It is {right}, I think.")
        assert partly.verdict is Verdict.INCORRECT
        assert partly.reward is not None
        assert 0 < partly.reward < 1


@pytest.mark.usefixtures("package")
async def test_simulated_replies() -> None:
    async with await start("chain_sum") as worker, await start("graph_color", tasks=1) as answerless:
        task = worker.batch.tasks[0].id
        assert (await worker.grade(task, REFERENCE_PLACEHOLDER, simulated=True)).verdict is Verdict.CORRECT
        assert (await worker.grade(task, WRONG_PLACEHOLDER, simulated=True)).verdict is Verdict.INCORRECT
        grade = await answerless.grade(answerless.batch.tasks[0].id, REFERENCE_PLACEHOLDER, simulated=True)
        assert grade.verdict is Verdict.INFRASTRUCTURE_FAILURE
        assert "no reference answers" in grade.message


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("dataset", sorted(names.EXPRESSION_ANSWERS | names.LITERAL_ANSWERS))
async def test_an_answer_is_never_run_as_code(dataset: str, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    code = f"__import__('pathlib').Path({str(proof)!r}).touch()"
    async with await start(dataset, tasks=2) as worker:
        for task in worker.batch.tasks:
            grades = await asyncio.gather(
                *(
                    worker.grade(task.id, f"<answer>{text}</answer>")
                    for text in (code, f"[{code}]", f"x.__class__ or {code}", f"Symbol('x', a={code})")
                )
            )
            assert {grade.verdict for grade in grades} <= {Verdict.INCORRECT, Verdict.INVALID_OUTPUT}
            assert (await worker.grade(task.id, REFERENCE_PLACEHOLDER, simulated=True)).verdict is Verdict.CORRECT
    assert not proof.exists()


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("2*x**3 - 5.5*sin(x) + C", True),
        ("exp(-x)*log(Abs(x))/sqrt(2)", True),
        ("(1 + 2) * 3 / .5", True),
        ("Integral(x, x)", False),
        ("x.real", False),
        ("(x).real", False),
        ("1 .real", False),
        ("1..real", False),
        ("__import__", False),
        ("'x'", False),
        ("x[0]", False),
        ("x if 1 else y", False),
        ("lambda: 1", False),
        ("x; y", False),
        ("x := 1", False),
        ("1" * 1000 + "!", False),
        ("*" * 1000 + "!", False),
    ],
)
def test_plain_expressions(text: str, *, plain: bool) -> None:
    assert bool(_EXPRESSION.fullmatch(text)) is plain


def test_the_frozen_names_are_the_packages(package: Path) -> None:
    found = {}
    for path in package.rglob("*.py"):
        match = re.search(r'^DATASET_NAME = "(\w+)"', path.read_text(), re.MULTILINE)
        if match:
            found[match[1]] = ".".join(path.relative_to(package).with_suffix("").parts)
    assert found == names.MODULES


def test_every_dataset_that_evaluates_answers_is_known(package: Path) -> None:
    """Graders whose `score_answer` evaluates its argument, found by reading the package."""
    evaluating = set()
    for dataset, module in names.MODULES.items():
        source = (package / module.replace(".", "/")).with_suffix(".py").read_text()
        scoring = re.search(r"def score_answer.*?(?=\n    def |\nclass |\Z)", source, re.DOTALL)
        if scoring and re.search(r"\b(?:eval|exec|parse_expr|sympify|compile)\((?!entry|metadata)", scoring[0]):
            evaluating.add(dataset)
    assert evaluating == names.EXPRESSION_ANSWERS | names.LITERAL_ANSWERS


def test_without_the_package_the_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NodusError, match=re.escape('pip install "nodus-tui[reasoning-gym]"')) as caught:
        EnvironmentCatalogue().resolve(f"reasoning-gym/chain_sum@{names.VERSION}", "test", own=no_own)
    assert caught.value.code is ErrorCode.CONFIGURATION
    assert all(entry.problem for entry in EnvironmentCatalogue().entries() if entry.source == "reasoning-gym")


def test_another_version_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.1.26")
    with pytest.raises(NodusError, match=r"0\.1\.26 is installed"):
        EnvironmentCatalogue().resolve(f"reasoning-gym/chain_sum@{names.VERSION}", "test", own=no_own)
