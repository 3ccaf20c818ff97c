"""What the console remembers from one time to the next: small facts in one JSON file of the state folder. It knows none of them."""

from pathlib import Path

from pydantic import JsonValue

from nodus_tui.kept_json import read_kept, write_kept

FILE_NAME = "console.json"
_MOST_BYTES = 1 << 20


class ConsoleMemory:
    """Facts by name. What cannot be read is as if it had never been written; what cannot be written is remembered until the end."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / FILE_NAME if folder is not None else None
        self._facts = self._read()

    def _read(self) -> dict[str, JsonValue]:
        read = read_kept(self._file, _MOST_BYTES) if self._file is not None else None
        return read if isinstance(read, dict) else {}

    def get(self, name: str) -> JsonValue:
        """A fact; None where there is none."""
        return self._facts.get(name)

    def keep(self, name: str, value: JsonValue) -> str:
        """Remember a fact; gives why that lasts only until the end, empty where it lasts."""
        self._facts[name] = value
        if self._file is None:
            return "there is no state folder"
        try:
            # Another console of the same person may have kept its own facts meanwhile.
            write_kept(self._file, {**self._read(), name: value})
        except OSError as error:
            return f"{self._file} cannot be written: {error.strerror or error}"
        return ""
