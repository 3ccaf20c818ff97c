"""Servers that the model tests share, and a client for any endpoint."""

from collections.abc import AsyncIterator, Iterator

import pytest
from model_servers import KEY, Connect, llama_cpp

from local_backend.models.calls import ModelClient
from local_backend.models.catalogue import ModelCatalogue, ResolvedModel
from nodus_tui.contract.configuration import Configuration, ModelEntry


@pytest.fixture(scope="session")
def llama_url() -> Iterator[str]:
    """The base URL of a real llama.cpp server."""
    with llama_cpp() as url:
        yield url


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes a client and a model for a base URL; closes them at the end."""
    clients: list[ModelClient] = []

    def make(
        base_url: str, *, provider: str = "openai", name: str = "smollm2-135m", timeout: str = "60s", **more: object
    ) -> tuple[ModelClient, ResolvedModel]:
        entry = ModelEntry.model_validate(
            {
                "family": "tested",
                "provider": provider,
                "name": name,
                "baseURL": base_url,
                "apiKeyEnv": "TESTED_KEY",
                "price": {"inputPerMTok": "1.00", "outputPerMTok": "5.00"},
                "timeout": timeout,
                **more,
            }
        )
        catalogue = ModelCatalogue(Configuration(models=(entry,)), {"TESTED_KEY": KEY})
        client = ModelClient(catalogue)
        clients.append(client)
        return client, catalogue.resolve(["tested"])

    yield make
    for client in clients:
        await client.aclose()
