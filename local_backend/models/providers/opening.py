"""From a resolved model to a provider that speaks its protocol, over connections that all of them share. Loads aiohttp."""

from collections.abc import Callable
from datetime import datetime

from local_backend.models.catalogue import ModelCatalogue, ResolvedModel
from local_backend.models.endpoints import chat_completions_url, messages_url, proxy_for
from local_backend.models.providers.anthropic_messages import VERSION, AnthropicMessages
from local_backend.models.providers.http import Connections, Endpoint
from local_backend.models.providers.openai_chat import OpenAIChat
from local_backend.models.wire import Provider


class RealProviders:
    """Opens the providers of one process. Belongs to one event loop."""

    def __init__(self, catalogue: ModelCatalogue, clock: Callable[[], datetime]) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._connections = Connections()

    def open(self, model: ResolvedModel) -> Provider:
        """The provider of a model that is not simulated."""
        key = self._catalogue.key_of(model)
        if model.provider == "anthropic":
            headers = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
            endpoint = self._endpoint(model, messages_url(model.base_url), headers, key)
            return AnthropicMessages(self._connections, endpoint, model=model.name)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        endpoint = self._endpoint(model, chat_completions_url(model.base_url), headers, key)
        return OpenAIChat(self._connections, endpoint, model=model.name, base_url=model.base_url)

    async def aclose(self) -> None:
        """Close the shared connections, for good."""
        await self._connections.aclose()

    def _endpoint(self, model: ResolvedModel, url: str, headers: dict[str, str], key: str | None) -> Endpoint:
        proxy = proxy_for(url, self._catalogue.environ)
        return Endpoint(url=url, headers=headers, key=key, key_name=model.api_key_env, proxy=proxy, clock=self._clock)
