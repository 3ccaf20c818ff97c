"""STAND-IN: the harness's command line. What it is not told here it does not take."""

import argparse
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from lm_eval.tasks import TaskManager

_LONGEST = time.monotonic() + 120
"""What a failed test left behind ends by itself."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run"])
    for name in ("model", "device", "output_path", "use_cache", "include_path", "config"):
        parser.add_argument(f"--{name}")
    for name in ("num_fewshot", "batch_size", "seed"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--tasks", type=lambda text: text.split(","), required=True)
    for name in ("model_args", "samples"):
        parser.add_argument(f"--{name}", type=json.loads)
    for name in ("log_samples", "predict_only", "apply_chat_template"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


class Cache:
    """Answers that survive this process, one at a time as the real one's do."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Any] = {}
        if path.exists():
            self.known = dict(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, key: str, answer: Any) -> None:
        self.known[key] = answer
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, answer]) + "\n")


def main() -> None:
    given = arguments()
    pretrained = given.model_args.get("pretrained")
    how: dict[str, Any] = json.loads((Path(pretrained) / "stand-in.json").read_text(encoding="utf-8")) if pretrained else {}
    if how.get("ignores_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    includes = json.loads(Path(given.config).read_text(encoding="utf-8"))["include_path"] if given.config else given.include_path
    loaded = TaskManager([includes] if isinstance(includes, str) else includes).load(given.tasks)["tasks"]
    print(f"STAND-IN, rank {rank}", file=sys.stderr)
    print("fatal: not a git repository (or any of the parent directories): .git", file=sys.stderr, flush=True)
    if "raises" in how:
        print("Traceback (most recent call last):\n  in a file\n" + how["raises"], file=sys.stderr)
        raise SystemExit(1)
    cache = Cache(Path(f"{given.use_cache}_rank{rank}.db"))
    scored = {name: chosen(name, task.eval_docs, given) for name, task in loaded.items()}
    answers: dict[tuple[str, int], Any] = {}
    kinds = {name: "loglikelihood" if task.OUTPUT_TYPE == "multiple_choice" else task.OUTPUT_TYPE for name, task in loaded.items()}
    for kind in dict.fromkeys(kinds.values()):
        ask(kind, [(name, place) for name in loaded if kinds[name] == kind for place in scored[name]], cache, answers, how)
    if rank == 0:
        write(given, loaded, scored, answers, how)


def chosen(name: str, documents: list[Any], given: argparse.Namespace) -> list[int]:
    if given.samples:
        return list(given.samples[name])
    return list(range(len(documents)))[: int(given.limit) if given.limit is not None else None]


def ask(kind: str, requests: list[tuple[str, int]], cache: Cache, answers: dict[tuple[str, int], Any], how: dict[str, Any]) -> None:
    print(f"2026-01-01:00:00:00 INFO     [evaluator:589] Running {kind} requests", file=sys.stderr)
    keys = {request: f"{request[0]}/{request[1]}" for request in requests}
    missing = [request for request in requests if keys[request] not in cache.known]
    found = len(requests) - len(missing)
    print(f"2026-01-01:00:00:00 INFO     [api.model:329] Cached requests: {found}, Requests remaining: {len(missing)}", file=sys.stderr)
    for done, request in enumerate(missing, start=1):
        hold = Path(how.get("hold", ""))
        while done > how.get("hold_after", 1_000_000) and not hold.exists():
            time.sleep(0.02)
            if not hold.parent.exists() or time.monotonic() > _LONGEST:
                raise SystemExit("STAND-IN: the test has gone")
        cache.add(keys[request], "Answer: 42")
        bar = "#" * (10 * done // len(missing))
        print(
            f"\rRunning {kind} requests: {100 * done // len(missing):3}%|{bar:10}| {done}/{len(missing)} [00:01<00:01]",
            end="",
            file=sys.stderr,
            flush=True,
        )
    print(file=sys.stderr)
    answers.update({request: cache.known[keys[request]] for request in requests})


def write(given: argparse.Namespace, loaded: dict[str, Any], scored: dict[str, list[int]], answers: Any, how: dict[str, Any]) -> None:
    told = how.get("answers", {})
    folder = Path(given.output_path) / "model"
    folder.mkdir(parents=True, exist_ok=True)
    results, counts = {}, {}
    for name, task in loaded.items():
        with (folder / f"samples_{name}_now.jsonl").open("w", encoding="utf-8") as file:
            for place in scored[name]:
                document = task.eval_docs[place]
                answer = told.get(document.get("prompt"), answers[name, place])
                file.write(json.dumps({"doc_id": place, "doc": document, "filtered_resps": [answer]}) + "\n")
        figures = {"bypass,none": 999, "bypass_stderr,none": "N/A"} if given.predict_only else {"acc,none": 0.5, "acc_stderr,none": 0.1}
        for metric, value in figures.items():
            print(f"|{name}|      1|none  |     0|{metric.partition(',')[0]}|   |  {value}|", flush=True)
        results[name] = {"alias": name, **figures}
        counts[name] = {"original": len(task.eval_docs), "effective": len(scored[name])}
    seen = {
        "argv": sys.argv[1:],
        "environ": dict(os.environ),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "arguments": vars(given),
    }
    whole = {"results": results, "n-samples": counts, "versions": dict.fromkeys(results, 1.0), "lm_eval_version": "0.4.13", "seen": seen}
    (folder / "results_now.json").write_text(json.dumps(whole), encoding="utf-8")


if __name__ == "__main__":
    main()
