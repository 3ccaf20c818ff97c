"""Modules that are loaded when something of them is first wanted: what only an action needs is no part of the start."""

from importlib import import_module


class Later:
    """Stands for a module, by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, wanted: str) -> object:
        """What the module has of that name. Raises AttributeError where it has nothing of it."""
        found: object = getattr(import_module(self._name), wanted)
        return found
