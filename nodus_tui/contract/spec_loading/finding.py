"""A fault of a value, before anybody knows where in a file it stands. It knows no reader of files: what only looks at values loads none."""

from msgspec import Struct

from nodus_tui.contract.spec_loading.paths import Path


class Finding(Struct, frozen=True):
    """A fault of a value, before it is given its place in the file."""

    path: Path
    message: str
    suggestion: str = ""
    at_key: bool = False
    """It is the key that is wrong, not its value."""
    missing: bool = False
