"""Who may ask what, and how often: roles, callers, each route's rule, hosts, origins, limits. Pure: time comes in as an argument."""

import ipaddress
import re
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct, field

from nodus_tui.contract.http import PREFIX


class Role(StrEnum):
    """What a caller may do."""

    VIEWER = "viewer"
    """Looks, checks and estimates."""
    OPERATOR = "operator"
    """Acts as well."""

    def covers(self, needed: "Role") -> bool:
        """Whether this role may do what needs the other."""
        return self is Role.OPERATOR or needed is Role.VIEWER


class Caller(Struct, frozen=True):
    """Who asks: the name that stands as the author of what they do, and what they may do."""

    name: str
    role: Role


class Limits(Struct, frozen=True):
    """What one listener grants. Times are in seconds."""

    body_bytes: int = 4 * 1024 * 1024
    body_seconds: float = 30
    """From a request's head to the end of its body."""
    linger_seconds: float = 2
    """After a refusal the rest of a body is taken and dropped for so long: a client that is still sending would else lose the answer."""
    header_seconds: float = 30
    """From a connection's or a request's first byte to the end of its head."""
    requests_per_second: float = 50
    """Of one token, in the long run."""
    burst: int = 200
    """Requests of one token at once, after a pause."""
    streams: int = 32
    """Event streams of one token that are open at once."""
    connections: int = 1000
    """Of one listener; more are closed unheard."""
    stall_seconds: float = 120
    """A reader of an event stream that takes nothing for so long is cut off; it can resume."""
    shutdown_seconds: float = 5
    """What is being answered when the server stops may take so long; event streams end at once."""


class AccessPolicy(Struct, frozen=True):
    """The rules of one listener."""

    identify: Callable[[str], Caller | None] | None
    """Gives the caller of a token, None for one that is unknown. None: a unix socket, where the system says who asks."""
    peers: frozenset[int] = frozenset()
    """User ids that may ask over a unix socket."""
    hosts: frozenset[str] | None = None
    """Names that a request's Host may have, in small letters; None means any, as on a unix socket, which no browser reaches."""
    any_address: bool = False
    """Whether a Host may also be any IP address: only names can be made to point here by somebody else."""
    origins: frozenset[str] = frozenset()
    """Values of Origin that are let through; without an Origin a request comes from no web page."""
    reads_files: bool = False
    """Whether specs may name files of this machine."""
    limits: Limits = field(default_factory=Limits)


_GET_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DRY_RUN = re.compile(r"(?:^|&)dryRun=([^&]*)")


_COMMANDS = re.compile(rf"{re.escape(PREFIX)}/sandboxes/[^/]*/exec(?:/|$)")


def needed_role(method: str, path: str, query: str) -> Role:
    """The role that a request needs. What is not known to be harmless needs an operator, so that a new route is closed at first.

    A dry run counts as one only when every reader reads it alike (`is_dry_run`). To ask what the server is, with a trial of its sandboxes,
    starts something there. What a person does in a sandbox is theirs, its output too. In the scheduler's log stand folders, names and what
    libraries say.
    """
    if (method, path) == ("GET", f"{PREFIX}/info") and query not in {"", "probe=false"}:
        return Role.OPERATOR
    if _COMMANDS.match(path) or path == f"{PREFIX}/scheduler":
        return Role.OPERATOR
    if method in _GET_METHODS or (method, path) == ("POST", f"{PREFIX}/estimate") or is_dry_run(method, path, query):
        return Role.VIEWER
    return Role.OPERATOR


def is_dry_run(method: str, path: str, query: str) -> bool:
    """Whether it only asks what an apply would do: `dryRun=true` stands in the query exactly so and once."""
    whole = _DRY_RUN.findall(query) == ["true"] and query.count("dryRun") == 1 and "%" not in query
    return whole and (method, path) == ("POST", f"{PREFIX}/apply")


_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


def host_allowed(policy: AccessPolicy, host: str | None) -> bool:
    """Whether a Host header names this server. The port does not count: a tunnel may have another one."""
    if policy.hosts is None:
        return True
    found = _HOST.fullmatch(host or "")
    if not found:
        return False
    name = (found["six"] or found["name"]).lower().removesuffix(".")
    return name in policy.hosts or (policy.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def listen_hosts(host: str, names: tuple[str, ...]) -> tuple[frozenset[str], bool]:
    """The names by which a listener on `host` is called, and whether any address is one: so it is on a wildcard address."""
    allowed = {name.lower().strip("[]") for name in (host, *names)}
    wildcard = loopback = False
    if _is_address(host):
        address = ipaddress.ip_address(host)
        wildcard, loopback = address.is_unspecified, address.is_loopback
    if loopback or host.lower() == "localhost":
        allowed |= {"localhost", "127.0.0.1", "::1"}
    return frozenset(allowed), wildcard


_BEARER = re.compile(r"bearer +(nodus_[A-Za-z0-9_-]{1,200})", re.IGNORECASE)


def bearer_token(authorization: str | None) -> str | None:
    """The token of an Authorization header; None when it holds none."""
    found = _BEARER.fullmatch(authorization or "")
    return found[1] if found else None


_TOKEN = re.compile(r"(nodus_)[A-Za-z0-9_-]{20,}")


def without_tokens(text: str) -> str:
    """The text with every token in it cut short: for logs and messages that repeat what somebody sent."""
    return _TOKEN.sub(r"\1…", text)


class TokenBucket:
    """A rate limit: `burst` at once, `rate` a second in the long run."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._level = float(burst)
        self._at: float | None = None

    def take(self, now: float) -> float:
        """0 when one more is allowed at this moment (in seconds, of any steady clock); else the seconds until one is."""
        if self._at is not None:
            self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) / self._rate
