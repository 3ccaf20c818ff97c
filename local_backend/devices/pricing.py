"""What an hour of devices costs: by the price list; or by their power limits at most, where electricity is what they cost. Pure."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from local_backend.devices.inventory import Device
from nodus_tui.contract.money import nano_ceiling
from nodus_tui.statistics.hardware_rates import device_rate

_WATTS = 1000
_JOULES_PER_KWH = 3_600_000


class Tariff(Struct, frozen=True):
    """What some devices cost together. Nano-dollars."""

    rate: int
    """An hour of them, at most."""
    metered: bool = False
    """Whether what they really cost is measured."""


class Pricing(Struct, frozen=True):
    """The price list of one configuration."""

    rates: Mapping[str, Decimal]
    """US dollars an hour by hardware."""
    usd_per_kwh: Decimal | None = None
    """None where the hour is what costs."""

    def of(self, hardware: str, devices: Sequence[Device]) -> Tariff | None:
        """Of devices that were asked for under a name; None where nothing is known of what one of them costs."""
        each = [self._of_one(hardware, device) for device in devices]
        known = [tariff for tariff in each if tariff is not None]
        if len(known) < len(each):
            return None
        return Tariff(sum(tariff.rate for tariff in known), metered=bool(known) and all(tariff.metered for tariff in known))

    def _of_one(self, hardware: str, device: Device) -> Tariff | None:
        """Without a power limit, what electricity may cost at most is not known: then the price list counts."""
        if self.usd_per_kwh is not None and device.power_limit_w is not None:
            return Tariff(nano_ceiling(Decimal(str(device.power_limit_w)) / _WATTS * self.usd_per_kwh), metered=True)
        rate = device_rate(self.rates, hardware)
        return None if rate is None else Tariff(nano_ceiling(rate))

    def dearest(self, names: Sequence[str], count: int, devices: Sequence[Device], means: Callable[[str, Device], bool]) -> int | None:
        """An hour of the dearest so many of what is here under these names; of what the list has of them, where nothing is here."""
        here = {name: [each for each in devices if means(name, each)] for name in names}
        possible = [name for name in names if here[name]] or names
        return max((rate for name in possible if (rate := self._dearest(name, count, here[name])) is not None), default=None)

    def _dearest(self, name: str, count: int, devices: Sequence[Device]) -> int | None:
        known = [tariff.rate for each in devices if (tariff := self._of_one(name, each)) is not None]
        if known:
            return max(known) * count
        rate = device_rate(self.rates, name)
        return None if rate is None else nano_ceiling(rate) * count

    def energy_nano(self, joules: float) -> int:
        """What so much electricity costs, rounded up; nothing where no price of it is known."""
        return nano_ceiling(Decimal(str(joules)) / _JOULES_PER_KWH * (self.usd_per_kwh or Decimal(0)))
