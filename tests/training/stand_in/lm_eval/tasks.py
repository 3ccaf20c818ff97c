"""STAND-IN: finds tasks in JSON files that are called YAML."""

import fnmatch
import json
from pathlib import Path
from typing import Any


class Task:
    def __init__(self, config: dict[str, Any], documents: list[dict[str, Any]]) -> None:
        self.config = config
        self.OUTPUT_TYPE = config["output_type"]
        self.VERSION = config["metadata"]["version"]
        self.UNSAFE_CODE = config.get("unsafe_code", False)
        self.eval_docs = documents


class TaskManager:
    def __init__(self, include_path: list[str] | None = None, include_defaults: bool = True) -> None:
        self._found: dict[str, dict[str, Any]] = {}
        for folder in include_path or ():
            for path in sorted(Path(folder).glob("**/*.yaml")):
                config = json.loads(path.read_text(encoding="utf-8"))
                self._found[config["task"]] = config

    def match_tasks(self, names: list[str]) -> list[str]:
        return sorted(each for each in self._found if any(fnmatch.fnmatch(each, name) for name in names))

    def load(self, names: list[str]) -> dict[str, dict[str, Task]]:
        return {"tasks": {name: Task(self._found[name], documents_of(self._found[name])) for name in names}}


def documents_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    text = Path(config["dataset_kwargs"]["data_files"]["test"]).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
