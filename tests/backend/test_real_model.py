"""The catalogue's arithmetic on a real model behind a real OpenAI-compatible server that others wrote (llama.cpp), to verdicts."""

import os

import pytest
from engine_place import Place, agent, at_rest, group, runs

from local_backend.models.local_server import LOCAL_MODEL, local_model_problem, local_model_server
from nodus_tui.contract.phases import GroupPhase

pytestmark = pytest.mark.timeout(110)


async def test_arithmetic_on_a_real_model_reaches_verdicts(place: Place) -> None:
    if problem := local_model_problem():
        assert not os.environ.get("CI"), f"CI must have the local model: {problem}"
        pytest.skip(problem)
    async with local_model_server() as base_url:
        place.base_url = base_url
        place.model = LOCAL_MODEL
        async with place.backend() as backend:
            await backend.apply(
                place.specs(agent("own", max_tokens=48), group(tasks=6, environment="nodus/arithmetic-v2@2.0.0", seed=42, max_active=4))
            )
            found = await at_rest(backend)
            results = await backend.results("campaign")
            first = await backend.transcript((await runs(backend))[0].name)
    assert found.phase is GroupPhase.COMPLETED
    assert results.coverage.scored == 6
    assert not results.simulated
    assert results.cost.model_usd > 0
    assert results.cost.unconfirmed_usd == 0
    assert all(item.input_tokens > 0 and item.output_tokens > 0 for item in results.results)
    assert first.turns[-1].role == "assistant"
    assert first.turns[-1].text
    assert not any(call.over_bound for call in first.calls)
