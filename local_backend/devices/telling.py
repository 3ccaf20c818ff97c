"""Who holds which device, put into the view of the machine. Pure."""

from collections.abc import Mapping

from nodus_tui.contract.hardware_view import DeviceHolder, GpuDevice, HardwareView

Holders = Mapping[str, tuple[DeviceHolder, ...]]
"""By uuid."""


def with_holders(view: HardwareView, holders: Holders) -> HardwareView:
    """The same view, each device and slice with those who were given it."""
    if not holders:
        return view
    return view.model_copy(update={"devices": tuple(_held(device, holders) for device in view.devices)})


def _held(device: GpuDevice, holders: Holders) -> GpuDevice:
    leaves = tuple(leaf.model_copy(update={"holders": holders.get(leaf.uuid or "", ())}) for leaf in device.mig_devices)
    return device.model_copy(update={"holders": holders.get(device.uuid or "", ()), "mig_devices": leaves})
