"""What the console remembers from one time to the next: small facts in one JSON file of the state folder. It knows none of them."""

import json
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

FILE_NAME = "console.json"
_MOST_BYTES = 1 << 20


class ConsoleMemory:
    """Facts by name. What cannot be read is as if it had never been written; what cannot be written is remembered until the end."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / FILE_NAME if folder is not None else None
        self._facts = self._read()

    def _read(self) -> dict[str, JsonValue]:
        if self._file is not None:
            with suppress(OSError, ValueError):
                if self._file.stat().st_size <= _MOST_BYTES:
                    read = json.loads(self._file.read_text(encoding="utf-8"))
                    return read if isinstance(read, dict) else {}
        return {}

    def get(self, name: str) -> JsonValue:
        """A fact; None where there is none."""
        return self._facts.get(name)

    def keep(self, name: str, value: JsonValue) -> str:
        """Remember a fact; gives why that lasts only until the end, empty where it lasts."""
        self._facts[name] = value
        if self._file is None:
            return "there is no state folder"
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            beside = self._file.with_suffix(".new")
            # Another console of the same person may have kept its own facts meanwhile.
            beside.write_text(json.dumps({**self._read(), name: value}, indent=2) + "\n", encoding="utf-8")
            beside.replace(self._file)
        except OSError as error:
            return f"{self._file} cannot be written: {error.strerror or error}"
        return ""
