"""What a workspace has whoever does its work: where things are kept, which models, environments, sandboxes and devices there are."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from local_backend.applying.applier import Applier
from local_backend.devices.desk import DeviceDesk
from local_backend.devices.pricing import Pricing
from local_backend.environments_here import LocalEnvironments
from local_backend.models.catalogue import ModelCatalogue
from local_backend.sandboxing import SandboxDesk
from local_backend.storage.space import MIB, SpaceGuard
from local_backend.storage.store import Store
from local_backend.storage.workspace import Workspace
from local_backend.training.desk import TrainingDesk
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.hardware_view import HardwareView
from nodus_tui.statistics.hardware_rates import rates_with


class Rooms:
    """Of one open workspace. `look` gives this machine as it is now."""

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
        self.space = SpaceGuard(workspace.home, configuration.min_free_disk_mib * MIB)
        self.catalogue = ModelCatalogue(configuration, environ, clock=clock)
        self.rates = rates_with(configuration.rates)
        electricity = configuration.electricity
        pricing = Pricing(self.rates, electricity.usd_per_kwh if electricity is not None else None)
        self.devices = DeviceDesk(look, configuration.hardware, pricing, clock)
        self.desk = SandboxDesk(workspace.home, configuration, environ, clock, self.devices)
        self.environments = LocalEnvironments(workspace.home, self.desk.pool, environ, clock)
        self.training = TrainingDesk(str(workspace.home), configuration.evaluate, environ, self.catalogue, self.environments.grading_engine)
        self.applier = Applier(
            store,
            self.catalogue,
            self.environments,
            clock,
            training=self.training,
            devices=self.devices,
            rates=self.rates,
            grace=configuration.jobs.stop_grace,
        )
