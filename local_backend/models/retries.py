"""Whether and when a failed call is tried again. Pure: the same call, try and error always give the same pause.

Only calls that certainly cost nothing are repeated. Without a word from the server the pause doubles from half a second up to a minute; a
pause that the server asks for is kept, up to five minutes, beyond which waiting would look like being stuck.
"""

from hashlib import blake2b

from msgspec import Struct

from local_backend.models.wire import ModelCallError

FIRST_PAUSE = 0.5
"""Seconds before the second try, at most."""

LONGEST_PAUSE = 60.0
"""Seconds; the most that is waited unless the server asks for more."""

LONGEST_ASKED_PAUSE = 300.0
"""Seconds; a server that asks for more is not waited for."""


class RetryPolicy(Struct, frozen=True):
    """The retries of one call. `key` names the call, so that calls which fail together do not come back together."""

    max_tries: int
    """The first included."""
    key: str = ""

    def delay(self, attempt: int, error: ModelCallError) -> float | None:
        """Seconds until the next try, after try `attempt` (from 1) ended with the error; None means that there is no next one."""
        if not error.retryable or attempt >= self.max_tries:
            return None
        share = self._share(attempt)
        if error.retry_after is not None:
            if error.retry_after > LONGEST_ASKED_PAUSE:
                return None
            return min(error.retry_after + share * min(1.0, error.retry_after / 10), LONGEST_ASKED_PAUSE)
        doubled: float = min(FIRST_PAUSE * 2.0 ** min(attempt - 1, 16), LONGEST_PAUSE)
        return doubled * (1 + share) / 2

    def gave_up(self, attempt: int, error: ModelCallError) -> str:
        """Why there is no next try, as a sentence for people that ends with the error itself."""
        if not error.retryable:
            return error.message
        if error.retry_after is not None and error.retry_after > LONGEST_ASKED_PAUSE:
            asked = (
                f"the server asks for a pause of {error.retry_after:,.0f} s, longer than the {LONGEST_ASKED_PAUSE:.0f} s that are waited"
            )
            return f"{asked}: {error.message}"
        return f"gave up after {attempt} {'try' if attempt == 1 else 'tries'}: {error.message}"

    def _share(self, attempt: int) -> float:
        """A number from 0 to 1 that looks random and depends on the call and the try alone."""
        digest = blake2b(f"{self.key}#{attempt}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest) / 2**64
