"""Where a model is served: base URLs as people write them, the address that requests go to, and the proxy on the way. Pure.

Both protocols take a base URL with or without its version. OpenAI chat: a URL without a path gets `/v1`; any path is taken as it is
(`/v1`, `/api/v1`, `/openai/v1`). Anthropic Messages: `/v1` at the end is optional.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"

_PUBLIC = {"openai": OPENAI_URL, "anthropic": ANTHROPIC_URL}
_PUBLIC_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def public_url(provider: str) -> str:
    """The provider's own public endpoint, for an entry without a base URL."""
    return _PUBLIC[provider]


def is_public(provider: str, base_url: str | None) -> bool:
    """Whether the base URL, or its absence, means the provider's own public endpoint over https."""
    if base_url is None:
        return True
    own, given = urlsplit(_PUBLIC[provider]), urlsplit(base_url)
    return (given.scheme, given.netloc.lower()) == (own.scheme, own.netloc)


def public_key_variable(provider: str) -> str:
    """The variable that usually holds the key of the provider's own public endpoint."""
    return _PUBLIC_KEYS[provider]


def checked_base_url(text: str) -> str:
    """The base URL without a slash at its end. Raises ValueError with the middle of a sentence for people."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{text!r} is no URL: {error}") from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("it holds a user name or password: keys belong into the environment variable that apiKeyEnv names")
    if parts.query or parts.fragment:
        raise ValueError("it has a part after ? or #: write the address only; keys belong into the variable that apiKeyEnv names")
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError(f"{text!r} is no http or https URL: write one such as http://127.0.0.1:8000/v1")
    if not text.isprintable() or " " in text:
        raise ValueError(f"{text!r} holds white space or control characters")
    return text.rstrip("/")


def chat_completions_url(base_url: str) -> str:
    """Where an OpenAI chat request goes."""
    base = base_url.rstrip("/")
    if base.endswith("/chat/completions"):
        return base
    return f"{base}/chat/completions" if urlsplit(base).path else f"{base}/v1/chat/completions"


def messages_url(base_url: str) -> str:
    """Where an Anthropic Messages request goes."""
    base = base_url.rstrip("/").removesuffix("/messages").removesuffix("/v1")
    return f"{base}/v1/messages"


def is_openai_itself(base_url: str) -> bool:
    """Whether the endpoint is OpenAI's own, or its regional ones."""
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")


def takes_max_completion_tokens(base_url: str) -> bool:
    """Whether the reply's limit goes into `max_completion_tokens`.

    OpenAI and Azure OpenAI want it there: their reasoning models refuse `max_tokens`. Everyone else gets `max_tokens`: some self-hosted
    servers ignore the newer name and would answer without a limit.
    """
    host = urlsplit(base_url).hostname or ""
    return is_openai_itself(base_url) or host.endswith(".openai.azure.com")


def shown_host(url: str) -> str:
    """Host and port, for messages."""
    return urlsplit(url).netloc


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY (either case) set for the URL. This machine is never behind one."""
    parts = urlsplit(url)
    lower = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy") and value}
    proxy = lower.get(f"{parts.scheme}_proxy") or lower.get("all_proxy")
    if not proxy or _is_this_machine(parts):
        return None
    if any(_matches(parts, rule.strip().lower()) for rule in lower.get("no_proxy", "").split(",")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _matches(parts: SplitResult, rule: str) -> bool:
    """Whether a NO_PROXY rule (`*`, `example.com`, `.example.com`, `*.example.com`, each with or without a port) names the host."""
    if rule == "*":
        return True
    name = rule.removeprefix("*").removeprefix(".")
    hosts = {parts.hostname or "", parts.netloc.lower()}
    return bool(name) and any(host == name or host.endswith("." + name) for host in hosts)


def _is_this_machine(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
