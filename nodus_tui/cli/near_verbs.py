"""What somebody means who types a verb that there is none of: the nearest name, or the verb that does what the word says. Pure."""

import difflib
from collections.abc import Collection

_MEANT = {
    "launch": "run",
    "start": "run",
    "submit": "run",
    "create": "apply",
    "edit": "apply",
    "check": "validate",
    "lint": "validate",
    "cost": "estimate",
    "plan": "estimate",
    "list": "get",
    "ls": "get",
    "show": "describe",
    "inspect": "describe",
    "status": "watch --once",
    "ps": "watch --once",
    "top": "gpus",
    "stop": "kill",
    "cancel": "kill",
    "abort": "kill",
    "rm": "delete",
    "remove": "delete",
    "raise": "extend-cap",
    "cap": "extend-cap",
    "rerun": "retry",
    "continue": "resume",
    "unpause": "resume",
    "hold": "pause",
    "copy": "cp",
    "shell": "exec",
    "ssh": "exec",
    "attach": "exec",
    "tail": "logs --follow",
    "log": "logs",
    "export": "results -o csv",
    "report": "results",
    "models": "doctor",
    "config": "schema config",
    "version": "--version",
    "help": "--help",
}
"""Words of other programs → what to type here."""


def meant_by(word: str, verbs: Collection[str]) -> str:
    """What to type instead of an unknown verb; empty where nothing is near."""
    small = word.lower()
    if small in verbs or small in _MEANT:
        return _MEANT.get(small, small)
    near = difflib.get_close_matches(small, [*verbs, *_MEANT], n=1)
    return _MEANT.get(near[0], near[0]) if near else ""
