"""No plugins of pydantic: none is wanted here, and to look for some takes a tenth of a verb's time. It knows where pydantic looks for them.

The first model that is built makes pydantic load all that reads packages' metadata, and read what every installed package says of itself.
`PYDANTIC_DISABLE_PLUGINS` saves the second only, and every process that is started from here would have it too.
"""

import sys
from importlib import import_module
from types import ModuleType

_PLACE = "pydantic.plugin._loader"


class _NoPlugins(ModuleType):
    """Stands in that place. Where a version of pydantic wants anything else of it, the real one comes back."""

    def get_plugins(self) -> tuple[()]:
        """None."""
        return ()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        del sys.modules[_PLACE]
        found: object = getattr(import_module(_PLACE), name)
        return found


def without_plugins() -> None:
    """From now on this process looks for none; it is late once a model has been built."""
    sys.modules.setdefault(_PLACE, _NoPlugins(_PLACE))
