"""Which devices a name of the price list means, by the names that drivers give them."""

import pytest

from nodus_tui.statistics.hardware_names import means, narrower

GIB = 1 << 30

DRIVER_NAMES = (
    "NVIDIA H100 80GB HBM3",
    "NVIDIA H100 PCIe",
    "NVIDIA H100 NVL",
    "NVIDIA H200",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA A100 80GB PCIe",
    "NVIDIA A10G",
    "NVIDIA A10",
    "NVIDIA L4",
    "NVIDIA L40",
    "NVIDIA L40S",
    "Tesla T4",
    "Tesla V100-SXM2-16GB",
    "NVIDIA GeForce RTX 4070",
    "NVIDIA GeForce RTX 4070 Ti",
    "NVIDIA GeForce RTX 4070 Ti SUPER",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA RTX A6000",
    "NVIDIA RTX 6000 Ada Generation",
    "Quadro RTX 6000",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA GH200 480GB",
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me",
    "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("H100", {"NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL"}),
        ("H100 SXM", {"NVIDIA H100 80GB HBM3"}),
        ("h100-sxm5", {"NVIDIA H100 80GB HBM3"}),
        ("H100 PCIe", {"NVIDIA H100 PCIe"}),
        ("H200", {"NVIDIA H200"}),
        ("A100", {"NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-40GB", "NVIDIA A100 80GB PCIe"}),
        ("A100-80G", {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"}),
        ("A100-40GB", {"NVIDIA A100-SXM4-40GB"}),
        ("L4", {"NVIDIA L4"}),
        ("L40", {"NVIDIA L40"}),
        ("L40S", {"NVIDIA L40S"}),
        ("A10", {"NVIDIA A10"}),
        ("T4", {"Tesla T4"}),
        ("RTX-4070", {"NVIDIA GeForce RTX 4070"}),
        ("RTX 4070 Ti", {"NVIDIA GeForce RTX 4070 Ti"}),
        ("RTX-4070-Ti-SUPER", {"NVIDIA GeForce RTX 4070 Ti SUPER"}),
        ("RTX-4090", {"NVIDIA GeForce RTX 4090"}),
        ("4090", {"NVIDIA GeForce RTX 4090"}),
        ("RTX-A6000", {"NVIDIA RTX A6000"}),
        ("RTX-6000", {"Quadro RTX 6000"}),
        ("RTX-6000-Ada", {"NVIDIA RTX 6000 Ada Generation"}),
        ("RTX-PRO-6000", {"NVIDIA RTX PRO 6000 Blackwell Server Edition"}),
        ("GH200", {"NVIDIA GH200 480GB"}),
        ("H100 MIG 1g.10gb", {"NVIDIA H100 80GB HBM3 MIG 1g.10gb"}),
        ("MIG-1g.10gb", {"NVIDIA H100 80GB HBM3 MIG 1g.10gb"}),
        ("MIG 3g.20gb", {"NVIDIA A100-SXM4-40GB MIG 3g.20gb"}),
        ("RTX", set()),
        ("NVIDIA", set()),
        ("Abacus", set()),
        ("", set()),
    ],
)
def test_a_name_means_these_devices_and_no_others(name: str, meant: set[str]) -> None:
    assert {device for device in DRIVER_NAMES if means(name, device)} == meant


@pytest.mark.parametrize("device", DRIVER_NAMES)
def test_every_device_is_meant_by_its_own_name_and_every_whole_one_by_the_name_for_all(device: str) -> None:
    assert means(device, device)
    assert means("gpu", device) == ("MIG" not in device)


def test_memory_that_the_name_does_not_tell_is_measured() -> None:
    assert means("L40S-48G", "NVIDIA L40S", 46_068 << 20)
    assert not means("L40S-24G", "NVIDIA L40S", 46_068 << 20)
    assert not means("L40S-48G", "NVIDIA L40S")
    assert means("RTX-4090-24G", "NVIDIA GeForce RTX 4090", 24_564 << 20)


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        ("H100 SXM", "H100", True),
        ("H100", "H100 SXM", False),
        ("H100 PCIe", "H100 SXM", False),
        ("A100-80G", "A100", True),
        ("A100", "A100-80G", False),
        ("L40S", "L4", False),
        ("RTX-4070-Ti", "RTX-4070", False),
        ("H100 MIG 1g.10gb", "H100", False),
        ("CPU", "CPU", True),
        ("GPU", "H100", False),
    ],
)
def test_one_name_is_narrower_than_another(one: str, other: str, holds: bool) -> None:
    assert narrower(one, other) is holds
