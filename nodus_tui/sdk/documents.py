"""From a program's values to the documents of the contract. Pure; what is wrong with a value is told by the contract's own checks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

Money = str | Decimal
"""US dollars: a decimal text such as "0.10", or a Decimal. Never a float."""

Input = str | Mapping[str, str] | tuple[str, str]
"""A prompt; or an id and a prompt, as {"id": …, "prompt": …} or as a pair."""

API_VERSION = "nodus.dev/v1"


def checked_money(value: object, what: str) -> Money:
    """The amount. Raises TypeError with a sentence for anything but text and Decimal."""
    if isinstance(value, str | Decimal):
        return value
    raise TypeError(
        f'{what} is money and {value!r} is a {type(value).__name__}: write it as text or as a Decimal, such as "0.10" or Decimal("0.10")'
    )


def checked_timeout(value: object) -> float | None:
    """Seconds to wait. Raises TypeError or ValueError with a sentence."""
    if value is None:
        return None
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"timeout is a number of seconds, a timedelta or None, not a {type(value).__name__}")
    if not value >= 0:
        raise ValueError(f"timeout is a number of seconds from 0, not {value}")
    return float(value)


def input_documents(inputs: Iterable[Input]) -> list[dict[str, str]]:
    """The inputs with their ids; those without one are numbered. Raises TypeError for anything else."""
    if isinstance(inputs, str | Mapping):
        raise TypeError("inputs is a sequence of prompts, not a single one: write [prompt]")
    made = []
    for place, each in enumerate(inputs, start=1):
        if isinstance(each, str):
            made.append({"id": f"input-{place:04d}", "prompt": each})
        elif isinstance(each, Mapping):
            made.append(dict(each))
        elif isinstance(each, tuple) and len(each) == 2:
            made.append({"id": each[0], "prompt": each[1]})
        else:
            raise TypeError(f"input {place} is a {type(each).__name__}: write a prompt, (id, prompt), or {{'id': …, 'prompt': …}}")
    return made


def _document(kind: str, name: str, spec: Mapping[str, object], project: str | None, labels: Mapping[str, str] | None) -> dict[str, object]:
    metadata: dict[str, object] = {"name": name}
    if project is not None:
        metadata["project"] = project
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def agent_document(
    name: str,
    *,
    system: str,
    families: Sequence[str],
    max_tokens: int,
    per_run_max_cost: Money,
    temperature: float | None,
    max_turns: int,
    tools: Sequence[str],
    sandbox: Mapping[str, object] | None,
    project: str | None,
    labels: Mapping[str, str] | None,
) -> dict[str, object]:
    """An Agent."""
    if isinstance(families, str):
        raise TypeError(f"families is a sequence of names, not a single one: write [{families!r}]")
    model: dict[str, object] = {"families": tuple(families), "maxTokens": max_tokens}
    if temperature is not None:
        model["temperature"] = temperature
    if isinstance(tools, str):
        raise TypeError(f"tools is a sequence of names, not a single one: write [{tools!r}]")
    spec: dict[str, object] = {
        "system": system,
        "model": model,
        "perRunMaxCostUSD": checked_money(per_run_max_cost, "per_run_max_cost"),
        "maxTurns": max_turns,
    }
    if tools:
        spec["tools"] = tuple(tools)
    if sandbox is not None:
        spec["sandbox"] = dict(sandbox)
    return _document("Agent", name, spec, project, labels)


def group_document(
    name: str,
    *,
    agent: str,
    max_active: int,
    max_cost: Money,
    evaluation: Mapping[str, object] | None,
    inputs: Sequence[Mapping[str, str]],
    project: str | None,
    labels: Mapping[str, str] | None,
) -> dict[str, object]:
    """An AgentGroup, with an evaluation or with inputs."""
    spec: dict[str, object] = {"agent": agent, "maxActive": max_active, "maxCostUSD": checked_money(max_cost, "max_cost")}
    if evaluation is not None:
        spec["evaluation"] = dict(evaluation)
    if inputs:
        spec["inputs"] = list(inputs)
    return _document("AgentGroup", name, spec, project, labels)


def sweep_document(
    name: str,
    *,
    template: Mapping[str, object],
    matrix: Mapping[str, object],
    max_cost: Money,
    max_parallel: int,
    repetitions: int,
    project: str | None,
    labels: Mapping[str, str] | None,
) -> dict[str, object]:
    """A Sweep."""
    spec: dict[str, object] = {
        "maxCostUSD": checked_money(max_cost, "max_cost"),
        "maxParallel": max_parallel,
        "repetitions": repetitions,
        "template": dict(template),
        "matrix": dict(matrix),
    }
    return _document("Sweep", name, spec, project, labels)


def sandbox_document(
    name: str, *, spec: Mapping[str, object], max_cost: Money, project: str | None, labels: Mapping[str, str] | None
) -> dict[str, object]:
    """A Sandbox."""
    return _document("Sandbox", name, {**spec, "maxCostUSD": checked_money(max_cost, "max_cost")}, project, labels)


def checked_command(value: object) -> tuple[str, ...]:
    """A program and its arguments. Raises TypeError for a text, ValueError for none."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f'a command is a program with its arguments: write ["sh", "-c", {value!r}]')
    words = tuple(value)
    if not words:
        raise ValueError('a command has at least a program: write ["ls"]')
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"the words of a command are text, and {word!r} is a {type(word).__name__}")
    return words


def checked_input(value: object) -> bytes:
    """What a command reads, text as UTF-8. Raises TypeError."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"input is bytes or text, not a {type(value).__name__}")
