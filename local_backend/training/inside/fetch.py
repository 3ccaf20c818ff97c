"""Fetches what an evaluation needs while there is a network, and says what it found: run with the harness's own Python.

usage: python fetch.py REQUEST ANSWER (paths of JSON files). A failure that a person can do something about is `problem` in the answer.
"""

import importlib.metadata
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_PACKAGES = ("lm_eval", "torch", "transformers", "datasets", "accelerate")
_OTHER_WEIGHTS = ("*.bin", "*.pth", "*.pt", "*.h5", "*.msgpack", "*.onnx", "*.gguf", "original/*", "onnx/*")
"""What need not be fetched of a model that also has safetensors."""
_TOKENIZER = ("tokenizer*", "*.json", "*.model", "*.jinja", "*.txt")


class ProblemError(Exception):
    """A sentence for people."""


def versions() -> dict[str, str]:
    """Of the packages that decide a score, as far as they are installed."""
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def check(needs: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Whether the packages are there that are needed, in the version that is named, if one is. Raises ProblemError."""
    for name, version in needs.items():
        if name not in found:
            raise ProblemError(f"{sys.executable} of the harness's image has no {name}: choose an image that has it (evaluate.image)")
        if version and found[name] != version:
            raise ProblemError(f"the harness's image has {name} {found[name]}, and this version works with {version} (evaluate.image)")


def fetch_model(repository: str, revision: str, patterns: Sequence[str] | None = None) -> dict[str, str]:
    """Bring a repository of the hub here: its folder and its commit, and a note where only what was fetched before could be taken."""
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415

    what = f"hf://{repository}" + (f"@{revision}" if revision else "")
    chosen: dict[str, Any] = {"revision": revision or None, "allow_patterns": list(patterns) if patterns else None}
    try:
        names = [each.rfilename for each in HfApi().model_info(repository, revision=revision or None).siblings or ()]
        ignored = _OTHER_WEIGHTS if any(name.endswith(".safetensors") for name in names) and not patterns else ()
        folder = snapshot_download(repository, ignore_patterns=list(ignored), **chosen)
    except Exception as error:  # noqa: BLE001 - of several libraries, and each may be got over without a network
        before = _fetched_before(repository, chosen)
        if before is None:
            raise ProblemError(_reason(what, error)) from None
        note = f"The hub did not give {what} ({_first_line(error)}); commit {Path(before).name} was fetched before."
        return {"path": before, "commit": Path(before).name, "note": note}
    return {"path": folder, "commit": Path(folder).name}


def _fetched_before(repository: str, chosen: Mapping[str, Any]) -> str | None:
    """The folder of an earlier fetch that is whole."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import LocalEntryNotFoundError  # noqa: PLC0415

    # Which weights were left out then is not known any more.
    for ignored in (_OTHER_WEIGHTS, ()):
        try:
            folder = str(snapshot_download(repository, ignore_patterns=list(ignored), local_files_only=True, **chosen))
        except LocalEntryNotFoundError:
            continue
        if not ignored or chosen["allow_patterns"] or any(Path(folder).rglob("*.safetensors")):
            return folder
    return None


def _reason(what: str, error: Exception) -> str:
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError  # noqa: PLC0415

    if isinstance(error, RevisionNotFoundError):
        return f"{what} is not there: the repository has no such commit"
    if isinstance(error, RepositoryNotFoundError):
        return f"{what} is not there, or may not be read without a token (HF_TOKEN in the scheduler's environment)"
    return f"{what} cannot be fetched, and was not before: {_first_line(error)}"


def find_tasks(names: Sequence[str], include_paths: Sequence[str], wanted: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """Load benchmark tasks, with which their data is fetched: how many samples each has, and which are kept."""
    from lm_eval.tasks import TaskManager  # noqa: PLC0415

    loaded: dict[str, Any] = {}
    if include_paths:
        # The index of the harness's own tasks takes ten times as long to read as all the rest.
        own = TaskManager(include_path=list(include_paths), include_defaults=False)
        if all(own.match_tasks([name]) for name in names):
            try:
                loaded = dict(own.load(own.match_tasks(list(names)))["tasks"])
            except Exception:  # noqa: BLE001 - a group of theirs may name tasks of the harness
                loaded = {}
    if not loaded:
        manager = TaskManager(include_path=list(include_paths) or None)
        missing = [name for name in names if not manager.match_tasks([name])]
        if missing:
            where = f", and {', '.join(include_paths)} has none of that name" if include_paths else ""
            raise ProblemError(f"the harness has no task {', '.join(missing)}{where}")
        loaded = dict(manager.load(manager.match_tasks(list(names)))["tasks"])
    return {name: _described(name, task, wanted, limit) for name, task in loaded.items()}


def _described(name: str, task: Any, wanted: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    if getattr(task, "UNSAFE_CODE", False):
        raise ProblemError(
            f"the task {name} runs code that the model writes, on this machine itself: score an Environment whose grader runs it in a "
            "sandbox instead"
        )
    documents = task.eval_docs
    kept = None
    if wanted:
        kept = [place for place, document in enumerate(documents) if _has(document, wanted)][:limit]
    count = len(documents)
    return {
        "all": count,
        "samples": len(kept) if kept is not None else min(count, limit or count),
        "kept": kept,
        "requests": "loglikelihood" if task.OUTPUT_TYPE == "multiple_choice" else str(task.OUTPUT_TYPE),
        "version": str(task.VERSION),
    }


def _has(document: Any, wanted: Mapping[str, Any]) -> bool:
    return isinstance(document, Mapping) and all(
        name in document and document[name] == value and isinstance(document[name], bool) == isinstance(value, bool)
        for name, value in wanted.items()
    )


def fetch_tokenizer(base_url: str, name: str) -> dict[str, str]:
    """How a served model's texts are cut into tokens, which log-likelihoods need: by its server, or by the hub's model of that name."""
    from lm_eval.utils import check_remote_tokenizer_support  # noqa: PLC0415

    if check_remote_tokenizer_support(base_url):
        return {"backend": "remote"}
    try:
        return {"backend": "huggingface", **fetch_model(name, "", _TOKENIZER)}
    except (ProblemError, ValueError) as error:
        raise ProblemError(
            "its tasks are scored by log-likelihoods, for which the served model's tokenizer is needed, and neither its server nor the hub "
            f"has it under the name {name} ({error}): choose tasks that generate text"
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was asked for. Raises ProblemError."""
    found: dict[str, Any] = {"versions": versions()}
    check(request.get("needs", {}), found["versions"])
    if hub := request.get("hub"):
        found["model"] = fetch_model(hub["repository"], hub["revision"])
    if request.get("tasks"):
        found["tasks"] = find_tasks(request["tasks"], request["includePaths"], request["filter"], request["limit"])
        if served := request.get("served"):
            generating = all(each["requests"] == "generate_until" for each in found["tasks"].values())
            found["tokenizer"] = {"backend": "none"} if generating else fetch_tokenizer(served["baseURL"], served["name"])
    return found


def main() -> int:
    """Answer the request."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        found, code = answer(request), 0
    except ProblemError as problem:
        found, code = {"problem": str(problem)}, 1
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
