"""The demonstration of the embedded backend: a real campaign on a small model on this machine, and a simulated one that shows every state.

It writes a configuration file, specs and a task file into a folder of its own; what runs them is the same code as for anybody's specs.
"""

import contextlib
import json
from pathlib import Path

from msgspec import Struct

from local_backend.demo_specs import CONFIGURATION, REAL_CONFIGURATION, REAL_SPEC, SIMULATED_SPEC, errand_tasks
from local_backend.models.local_server import LOCAL_MODEL, local_model_problem, local_model_server
from nodus_tui.contract.demo import DemoCampaign, DemoRequest


class _Size(Struct, frozen=True):
    real_tasks: int
    simulated_tasks: int
    latency: float
    """Seconds that a simulated call takes, about."""
    pause: float
    """Seconds that a simulated rate limit asks for."""


_SIZES = {"full": _Size(24, 50, 1.2, 3), "small": _Size(4, 5, 0.01, 0.1)}


class LocalDemo:
    """A prepared demonstration (a `DemoKit`)."""

    def __init__(
        self, home: Path, config: Path, campaigns: tuple[DemoCampaign, ...], problem: str, server: contextlib.AsyncExitStack
    ) -> None:
        self.home = home
        self.config = config
        self.campaigns = campaigns
        self.problem = problem
        self._server = server

    async def aclose(self) -> None:
        """Stop the model server, where one was started."""
        await self._server.aclose()


async def prepare_demo(request: DemoRequest) -> LocalDemo:
    """Start the model server where it is wanted and can be, and write everything into `demo` below the state folder."""
    home = request.home / "demo"
    specs = home / "specs"
    specs.mkdir(parents=True, exist_ok=True)
    size = _SIZES[request.size]
    campaigns = []
    configuration, problem = CONFIGURATION.format(latency=size.latency, pause=size.pause), ""
    async with contextlib.AsyncExitStack() as stack:
        if "real" in request.campaigns:
            problem = local_model_problem()
            if not problem:
                url = await stack.enter_async_context(local_model_server())
                configuration += REAL_CONFIGURATION.format(name=LOCAL_MODEL, url=url)
                path = specs / "arithmetic-smollm2.yaml"
                path.write_text(REAL_SPEC.format(tasks=size.real_tasks), encoding="utf-8")
                campaigns.append(DemoCampaign(group="arithmetic-smollm2", spec=path, simulated=False))
        if "simulated" in request.campaigns:
            path = specs / "every-state.yaml"
            path.write_text(SIMULATED_SPEC.format(tasks=size.simulated_tasks), encoding="utf-8")
            lines = "".join(json.dumps(task) + "\n" for task in errand_tasks(_SIZES["full"].simulated_tasks))
            (specs / "errands.jsonl").write_text(lines, encoding="utf-8")
            campaigns.append(DemoCampaign(group="every-state", spec=path, simulated=True))
        config = home / "config.yaml"
        config.write_text(configuration, encoding="utf-8")
        return LocalDemo(home, config, tuple(campaigns), problem, stack.pop_all())
