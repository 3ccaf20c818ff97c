"""The route to the server's machine: its accelerators, who uses them, and the machine around them."""

from fastapi import APIRouter, Request, Response

from local_backend.daemon.access import Role
from local_backend.daemon.answers import answer, caller_of
from nodus_tui.contract.backend import Backend
from nodus_tui.contract.hardware_view import GpuDevice, GpuProcess, HardwareView, MigDevice


def hardware_routes(backend: Backend) -> APIRouter:
    """The routes over one backend."""
    router = APIRouter()

    @router.get("/gpus", response_model=HardwareView)
    async def gpus(request: Request, history: bool = False) -> Response:  # noqa: FBT001, FBT002 - a parameter of the query
        """The server's machine as it is now. A viewer sees of each command its program only: arguments may hold what is not for all."""
        view = await backend.gpus(history=history)
        return answer(view if caller_of(request).role is Role.OPERATOR else _for_viewers(view))

    return router


def _for_viewers(view: HardwareView) -> HardwareView:
    return view.model_copy(update={"devices": tuple(_without_arguments(device) for device in view.devices)})


def _without_arguments(device: GpuDevice) -> GpuDevice:
    leaves = tuple(_leaf_without_arguments(leaf) for leaf in device.mig_devices)
    return device.model_copy(update={"processes": _programs(device.processes), "mig_devices": leaves})


def _leaf_without_arguments(leaf: MigDevice) -> MigDevice:
    return leaf.model_copy(update={"processes": _programs(leaf.processes)})


def _programs(processes: tuple[GpuProcess, ...] | None) -> tuple[GpuProcess, ...] | None:
    if processes is None:
        return None
    return tuple(each.model_copy(update={"command": each.command and each.command.partition(" ")[0]}) for each in processes)
