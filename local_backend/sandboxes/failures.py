"""What this machine refuses to an engine (files, descriptors, processes), in the one kind of error that the engine's callers know."""

from collections.abc import Iterator
from contextlib import contextmanager

from local_backend.sandboxes.interface import SandboxError


@contextmanager
def told_as_sandbox_error(what: str) -> Iterator[None]:
    """Have an OSError leave as a SandboxError: what could not be done, and why. Not for what waits: a TimeoutError is an OSError, too."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise SandboxError(f"{what}: {error.strerror or error or type(error).__name__}{where}.") from error
