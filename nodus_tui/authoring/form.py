"""The guided form: an agent, what it is scored on, and its caps, as a few answers; and the spec that they make. Pure."""

import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from msgspec import Struct

from nodus_tui.contract.durations import parse_duration
from nodus_tui.contract.money import parse_usd, usd_text
from nodus_tui.contract.resources.agent_group import MAX_CASES
from nodus_tui.contract.resources.meta import NAME_PATTERN

_NAME = re.compile(NAME_PATTERN)
_SHORTEST, _LONGEST = timedelta(minutes=1), timedelta(hours=24)
"""Between these lies a group's timeout."""


class Question(Struct, frozen=True):
    """One line of the form."""

    id: str
    label: str
    help: str


QUESTIONS = (
    Question("name", "Name", "What the group is called; its agent is called NAME-agent."),
    Question("family", "Model family", "A family of the model catalogue."),
    Question("system", "System prompt", "What the agent is told before each task; may be empty."),
    Question("environment", "Environment", "What it is scored on, as name@version."),
    Question("tasks", "Tasks", "How many different tasks."),
    Question("repetitions", "Repetitions", "Answers for each task; tasks × repetitions is 100 at most."),
    Question("runCap", "Cap of a run", "US dollars that one run may spend on models, at most."),
    Question("groupCap", "Cap of the group", "US dollars for all runs together; empty gives every case room to start."),
    Question("maxActive", "maxActive", "How many runs go at once, at most."),
    Question("timeout", "Timeout", "Of the whole group, from its creation on: 1m to 24h, such as 30m or 1h30m."),
    Question("maxTokens", "Tokens of a reply", "At most; a call sets aside the price of so many, so fewer let more runs go at once."),
    Question("tools", "Tools", "none, or some of bash, read, write, edit, submit: then each run gets a sandbox."),
)

Answers = dict[str, str]
"""What was typed, by the question's id."""

DEFAULT_ANSWERS: Answers = {
    "name": "my-evaluation",
    "family": "simulated",
    "system": "Answer the question with one number.",
    "environment": "nodus/arithmetic-v2@2.0.0",
    "tasks": "20",
    "repetitions": "1",
    "runCap": "0.10",
    "groupCap": "",
    "maxActive": "10",
    "timeout": "30m",
    "maxTokens": "1024",
    "tools": "none",
}


def answers_of(kept: Mapping[str, str]) -> Answers:
    """Answers that were kept, and for what is not among them the usual ones."""
    return {each: kept.get(each, usual) for each, usual in DEFAULT_ANSWERS.items()}


TOOL_CHOICES = ("none", "bash", "bash, read, write, edit", "bash, read, write, edit, submit")


def problems(answers: Answers) -> dict[str, str]:
    """What is wrong with answers by themselves, by the question's id; what the workspace knows better is asked of it."""
    found: dict[str, str] = {}
    name = answers["name"].strip()
    if not _NAME.fullmatch(name) or len(name) > 50:
        found["name"] = "1 to 50 small letters, digits, dots and hyphens, beginning and ending with a letter or digit"
    found |= _number_problems(answers)
    if wrong := _duration_problem(answers["timeout"].strip()):
        found["timeout"] = wrong
    for each in ("runCap", "groupCap"):
        if wrong := _money_problem(answers[each].strip(), may_be_empty=each == "groupCap"):
            found[each] = wrong
    for each in ("family", "environment"):
        if not answers[each].strip():
            found[each] = "it is needed"
    if strange := [tool for tool in _tools(answers["tools"]) if tool not in {"bash", "read", "write", "edit", "submit"}]:
        found["tools"] = f"{strange[0]} is no tool; there are bash, read, write, edit, submit"
    return found


def _number_problems(answers: Answers) -> dict[str, str]:
    found: dict[str, str] = {}
    for each, most in (("tasks", MAX_CASES), ("repetitions", MAX_CASES), ("maxActive", 1000), ("maxTokens", 1_000_000)):
        text = answers[each].strip()
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:8]) <= most:
            found[each] = f"a whole number from 1 to {most:,}"
    if not found.keys() & {"tasks", "repetitions"} and int(answers["tasks"]) * int(answers["repetitions"]) > MAX_CASES:
        found["repetitions"] = f"tasks × repetitions is more than {MAX_CASES}; a Sweep with shards holds more"
    return found


def _money_problem(text: str, *, may_be_empty: bool) -> str:
    if may_be_empty and not text:
        return ""
    try:
        return "" if parse_usd(text.removeprefix("$")) > 0 else "more than 0"
    except ValueError as error:
        return str(error)


def _duration_problem(text: str) -> str:
    try:
        return "" if _SHORTEST <= parse_duration(text) <= _LONGEST else "from 1m to 24h"
    except ValueError as error:
        return str(error)


def group_cap(answers: Answers) -> Decimal:
    """The group's cap that answers without a problem come to: what was typed, or room for every case."""
    typed = answers["groupCap"].strip().removeprefix("$")
    if typed:
        return parse_usd(typed)
    return parse_usd(answers["runCap"].strip().removeprefix("$")) * int(answers["tasks"]) * int(answers["repetitions"])


def spec_of(answers: Answers) -> str:
    """The YAML of answers without a problem."""
    name, system, tools = answers["name"].strip(), answers["system"].strip(), _tools(answers["tools"])
    lines = [
        "apiVersion: nodus.dev/v1",
        "kind: Agent",
        "metadata:",
        f"  name: {name}-agent",
        "spec:",
        *([f"  system: {_quoted(system)}"] if system else []),
        "  model:",
        f"    families: [{_quoted(answers['family'].strip())}]",
        f"    maxTokens: {int(answers['maxTokens'])}",
        f'  perRunMaxCostUSD: "{usd_text(parse_usd(answers["runCap"].strip().removeprefix("$")))}"',
        *([f"  tools: [{', '.join(tools)}]"] if tools else []),
        "---",
        "apiVersion: nodus.dev/v1",
        "kind: AgentGroup",
        "metadata:",
        f"  name: {name}",
        "spec:",
        f"  agent: {name}-agent",
        f"  maxActive: {int(answers['maxActive'])}",
        f'  maxCostUSD: "{usd_text(group_cap(answers))}"',
        "  evaluation:",
        f"    environment: {_quoted(answers['environment'].strip())}",
        "    split: test",
        f"    tasks: {int(answers['tasks'])}",
        f"    repetitions: {int(answers['repetitions'])}",
        "    seed: 0",
        f"    timeout: {answers['timeout'].strip()}",
    ]
    return "\n".join(lines) + "\n"


def _tools(text: str) -> list[str]:
    words = [word for word in re.split(r"[,\s]+", text.strip()) if word]
    return [] if words in ([], ["none"]) else words


def _quoted(text: str) -> str:
    """As a YAML text: plain where that stays what it is."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9 _./@+-]*[A-Za-z0-9.]", text) and text.casefold() not in {
        "true",
        "false",
        "null",
        "yes",
        "no",
        "on",
        "off",
    }:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped) + '"'
