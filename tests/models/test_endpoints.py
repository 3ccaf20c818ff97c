"""Base URLs in every form that people write, and the proxies of the environment."""

import pytest

from local_backend.models.endpoints import chat_completions_url, checked_base_url, messages_url, proxy_for, takes_max_completion_tokens
from local_backend.models.providers.openai_chat import request_body
from local_backend.models.wire import ChatMessage, ModelRequest


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://host/paas/v4/chat/completions", "https://host/paas/v4/chat/completions"),
    ],
)
def test_openai_urls(base: str, url: str) -> None:
    assert chat_completions_url(checked_base_url(base)) == url


@pytest.mark.parametrize("base", ["https://h/x", "https://h/x/", "https://h/x/v1", "https://h/x/v1/", "https://h/x/v1/messages"])
def test_anthropic_urls(base: str) -> None:
    assert messages_url(checked_base_url(base)) == "https://h/x/v1/messages"


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("http://127.0.0.1:8000/v1", "max_tokens"),
        ("https://openrouter.ai/api/v1", "max_tokens"),
        ("https://api.openai.com.example.com/v1", "max_tokens"),
    ],
)
def test_the_name_of_the_replys_limit(base: str, name: str) -> None:
    body = request_body(ModelRequest("", (ChatMessage("user", "hi"),), 5), model="m", base_url=base)
    assert body[name] == 5
    assert len({"max_tokens", "max_completion_tokens"} & body.keys()) == 1
    assert takes_max_completion_tokens(base) == (name == "max_completion_tokens")


def test_openai_itself_is_asked_for_the_tier_whose_price_is_known() -> None:
    request = ModelRequest("", (ChatMessage("user", "hi"),), 5)
    assert request_body(request, model="m", base_url="https://api.openai.com/v1")["service_tier"] == "default"
    assert "service_tier" not in request_body(request, model="m", base_url="http://127.0.0.1:8000/v1")


PROXY = {"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "other:8080"}


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.openai.com/v1", {}, None),
        ("https://api.openai.com/v1", PROXY, "http://proxy:3128"),
        ("http://vllm.lan:8000/v1", PROXY, "http://other:8080"),
        ("http://vllm.lan:8000/v1", {"ALL_PROXY": "http://all:1"}, "http://all:1"),
        ("http://127.0.0.1:8000/v1", PROXY, None),
        ("http://[::1]:8000/v1", PROXY, None),
        ("http://localhost/v1", PROXY, None),
        ("https://api.openai.com/v1", PROXY | {"NO_PROXY": "*"}, None),
        ("https://api.openai.com/v1", PROXY | {"NO_PROXY": "example.com, openai.com"}, None),
        ("https://api.openai.com/v1", PROXY | {"no_proxy": ".openai.com"}, None),
        ("https://api.openai.com/v1", PROXY | {"no_proxy": "penai.com"}, "http://proxy:3128"),
        ("http://vllm.lan:8000/v1", PROXY | {"no_proxy": "vllm.lan:8000"}, None),
        ("http://vllm.lan:8000/v1", PROXY | {"no_proxy": "vllm.lan:9000"}, "http://other:8080"),
    ],
)
def test_proxies(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environ) == proxy
