"""What a workspace has whoever does its work: where things are kept, which models, environments, sandboxes and devices there are."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime
    from decimal import Decimal

    from local_backend.applying.applier import Applier
    from local_backend.applying.lookups import Lookups
    from local_backend.devices.desk import DeviceDesk
    from local_backend.environments_here import LocalEnvironments
    from local_backend.machine_sandboxes import MachineSandboxes
    from local_backend.models.catalogue import ModelCatalogue
    from local_backend.sandboxing import SandboxDesk
    from local_backend.storage.space import SpaceGuard
    from local_backend.storage.store import Store
    from local_backend.storage.workspace import Workspace
    from local_backend.training.desk import TrainingDesk
    from nodus_tui.contract.configuration import Configuration
    from nodus_tui.contract.hardware_view import HardwareView


class Rooms:
    """Of one open workspace, each made when it is first asked for. `look` gives this machine as it is now."""

    def __init__(
        self,
        *,
        workspace: Workspace,
        store: Store,
        configuration: Configuration,
        environ: Mapping[str, str],
        clock: Callable[[], datetime],
        look: Callable[[], Awaitable[HardwareView]],
    ) -> None:
        self.workspace = workspace
        self.store = store
        self.configuration = configuration
        self.environ = environ
        self.clock = clock
        self._look = look

    @cached_property
    def space(self) -> SpaceGuard:
        """What is free on the workspace's disk."""
        from local_backend.storage.space import MIB, SpaceGuard  # noqa: PLC0415 - one room of several

        return SpaceGuard(self.workspace.home, self.configuration.min_free_disk_mib * MIB)

    @cached_property
    def catalogue(self) -> ModelCatalogue:
        """The models."""
        from local_backend.models.catalogue import ModelCatalogue  # noqa: PLC0415 - see above

        return ModelCatalogue(self.configuration, self.environ, clock=self.clock)

    @cached_property
    def rates(self) -> Mapping[str, Decimal]:
        """US dollars an hour by hardware."""
        from nodus_tui.statistics.hardware_rates import rates_with  # noqa: PLC0415 - see above

        return rates_with(self.configuration.rates)

    @cached_property
    def devices(self) -> DeviceDesk:
        """Who has which of this machine's devices."""
        from local_backend.devices.desk import DeviceDesk  # noqa: PLC0415 - see above
        from local_backend.devices.pricing import Pricing  # noqa: PLC0415 - see above

        electricity = self.configuration.electricity
        pricing = Pricing(self.rates, electricity.usd_per_kwh if electricity is not None else None)
        return DeviceDesk(self._look, self.configuration.hardware, pricing, self.clock)

    @cached_property
    def machine_sandboxes(self) -> MachineSandboxes:
        """Every sandbox of ours on this machine."""
        from local_backend.machine_sandboxes import MachineSandboxes  # noqa: PLC0415 - see above

        return MachineSandboxes(self.workspace.home, self.environ)

    @cached_property
    def desk(self) -> SandboxDesk:
        """What this workspace makes its sandboxes with."""
        from local_backend.sandboxing import SandboxDesk  # noqa: PLC0415 - see above

        return SandboxDesk(self.workspace.home, self.configuration, self.environ, self.clock, self.devices)

    @cached_property
    def environments(self) -> LocalEnvironments:
        """The environments and their graders."""
        from local_backend.environments_here import LocalEnvironments  # noqa: PLC0415 - see above

        return LocalEnvironments(self.workspace.home, lambda: self.desk.pool, self.environ, self.clock)

    @cached_property
    def training(self) -> TrainingDesk:
        """What TrainingJobs run."""
        from local_backend.training.desk import TrainingDesk  # noqa: PLC0415 - see above

        settings, engine = self.configuration.evaluate, self.environments.grading_engine
        return TrainingDesk(str(self.workspace.home), settings, self.environ, self.catalogue, engine)

    @cached_property
    def lookups(self) -> Lookups:
        """What specs are checked against."""
        from local_backend.applying.lookups import Lookups  # noqa: PLC0415 - see above

        return Lookups(self)

    @cached_property
    def applier(self) -> Applier:
        """What checks and plans specs."""
        from local_backend.applying.applier import Applier  # noqa: PLC0415 - see above

        return Applier(self)

    async def aclose(self) -> None:
        """Let go of the devices and of the sandboxes' engine, where they were asked for."""
        if "devices" in vars(self):
            await self.devices.aclose()
        if "desk" in vars(self):
            await self.desk.aclose()
