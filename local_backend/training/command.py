"""The harness's command line and environment for one evaluation. Pure."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from local_backend.training.order import OUTPUTS, EvaluationOrder

ENVIRONMENT_TASK = "environment"
"""The name of the task that asks an Environment's prompts."""

OFFLINE: Mapping[str, str] = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
"""With these the harness's libraries look at nothing but what was fetched."""


class Fetched(Struct, frozen=True):
    """What is known when everything is here."""

    model_path: str = ""
    """Of a model that the harness loads itself."""
    tasks: tuple[str, ...] = ()
    kept: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Places of the samples that are scored, by task, where some are left out."""
    tokenizer: Mapping[str, str] = field(default_factory=dict)
    """Of a served model."""
    chat_template: bool = False
    """Whether prompts are put into the model's own form of a conversation."""


class Places(Struct, frozen=True):
    """Where things lie below the work folder."""

    work: Path
    model: str = ""
    """What tells the model's files from any others: answers of other files are never taken for theirs."""

    @property
    def outputs(self) -> Path:
        """What is kept when it ends."""
        return self.work / OUTPUTS

    @property
    def harness(self) -> Path:
        """What the harness writes."""
        return self.work / "harness"

    @property
    def cache(self) -> Path:
        """The model's answers so far, which the next attempt goes on from."""
        return self.work / "cache" / self.model

    @property
    def environment(self) -> Path:
        """The task that asks an Environment's prompts. A folder called like the task would be taken for it, with a warning."""
        return self.work / "prompts"


def harness_arguments(order: EvaluationOrder, fetched: Fetched, places: Places, *, device: str) -> list[str]:
    """What follows `lm_eval`."""
    name, arguments = _model(order, fetched)
    words = ["run", "--model", name, "--model_args", json.dumps(arguments), "--tasks", ",".join(fetched.tasks)]
    if order.model.kind != "served":
        words += ["--device", device]
    words += ["--batch_size", str(_batch_size(order)), "--seed", str(order.seed)]
    words += ["--output_path", str(places.harness), "--log_samples", "--use_cache", str(places.cache / "requests")]
    words += _what_is_scored(order, fetched, places)
    if fetched.chat_template:
        words.append("--apply_chat_template")
    return words


def _what_is_scored(order: EvaluationOrder, fetched: Fetched, places: Places) -> list[str]:
    if order.environment is not None:
        return ["--include_path", str(places.environment), "--predict_only"]
    words: list[str] = []
    if len(order.include_paths) == 1:
        words += ["--include_path", order.include_paths[0]]
    elif order.include_paths:
        # The option takes one folder; the configuration file takes a list.
        words += ["--config", str(includes_file(places))]
    fewshot, limit = order.number("numFewshot"), order.number("limit")
    if fewshot is not None:
        words += ["--num_fewshot", str(fewshot)]
    if fetched.kept:
        words += ["--samples", json.dumps({task: list(kept) for task, kept in fetched.kept.items()})]
    elif limit is not None:
        words += ["--limit", str(limit)]
    return words


def includes_file(places: Places) -> Path:
    """The file that names several folders of tasks to the harness."""
    return places.work / "includes.json"


def includes_text(order: EvaluationOrder) -> str:
    """What stands in it."""
    return json.dumps({"include_path": list(order.include_paths)})


def _batch_size(order: EvaluationOrder) -> int:
    if order.model.kind == "served":
        return 1  # Several requests at once take its place.
    together = order.number("evaluationBatchSize") if order.environment is not None else None
    return together or order.number("batchSize") or 1


def _model(order: EvaluationOrder, fetched: Fetched) -> tuple[str, dict[str, Any]]:
    model = order.model
    if model.kind != "served":
        path = Path(fetched.model_path)
        if path.suffix == ".gguf":
            return "hf", {"pretrained": str(path.parent), "gguf_file": path.name}
        return "hf", {"pretrained": str(path)}
    at_once = (order.number("evaluationBatchSize") if order.environment is not None else None) or order.number("batchSize") or 1
    arguments: dict[str, Any] = {
        "model": model.name,
        "base_url": served_url(model.place, model.dialect),
        "num_concurrent": min(at_once, model.concurrency),
        "seed": order.seed,
    }
    if model.dialect == "chat":
        return "local-chat-completions", arguments
    backend = fetched.tokenizer.get("backend", "none")
    arguments |= {"tokenizer_backend": backend, "tokenized_requests": backend == "huggingface"}
    if "path" in fetched.tokenizer:
        arguments["tokenizer"] = fetched.tokenizer["path"]
    return "local-completions", arguments


def served_url(base_url: str, dialect: Literal["completions", "chat"]) -> str:
    """Where requests go."""
    return base_url.rstrip("/") + ("/chat/completions" if dialect == "chat" else "/completions")


def launched(python: str, devices: int, arguments: Sequence[str]) -> list[str]:
    """The whole command: torchrun starts one process for each device where there are several."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(devices)] if devices > 1 else []
    return [python, *launcher, "-m", "lm_eval", *arguments]


def environment_task(prompts: Path, order: EvaluationOrder) -> dict[str, Any]:
    """The task that has the harness answer an Environment's prompts. It holds nothing that could grade an answer."""
    generation: dict[str, Any] = {"until": [], "do_sample": False}
    longest = order.number("maxCompletionLength")
    if longest is not None:
        generation["max_gen_toks"] = longest
    return {
        "task": ENVIRONMENT_TASK,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(prompts)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "prompt",
        "doc_to_target": "id",
        "generation_kwargs": generation,
        "metadata": {"version": 1},
    }
