"""Pydantic's search for plugins is left out, and comes back whole for whoever wants more of it than that."""

import subprocess
import sys

_BUILD = """
import sys
from nodus_tui.cli.no_plugins import without_plugins
without_plugins()
from pydantic import BaseModel
class Model(BaseModel):
    count: int
assert Model.model_validate_json('{"count": 3}').count == 3
try:
    Model.model_validate_json('{"count": "many"}')
except ValueError as error:
    assert "count" in str(error)
else:
    raise AssertionError("a fault was not seen")
assert "importlib.metadata" not in sys.modules
"""
_BACK = """
from pydantic.plugin._loader import PYDANTIC_ENTRY_POINT_GROUP, get_plugins
assert PYDANTIC_ENTRY_POINT_GROUP == "pydantic"
assert "importlib.metadata" in sys.modules
assert sys.modules["pydantic.plugin._loader"].__file__
"""


def _done(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60).stderr


def test_models_check_as_ever_and_nothing_reads_what_packages_say_of_themselves() -> None:
    assert _done(_BUILD) == ""


def test_the_real_one_comes_back_where_something_else_is_wanted_of_it() -> None:
    assert _done(_BUILD + _BACK) == ""
