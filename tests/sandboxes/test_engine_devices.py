"""Accelerators in sandboxes. There is none here: device files of the system stand in for a device's under bubblewrap, and of Docker it is
tested what the engine is asked for, and what a real one without GPUs answers."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker_engines import request as docker_request
from docker_engines import user_engine
from engine_suite import connect, request, said, sandbox_of, shell

from local_backend.sandboxes.bubblewrap import engine as bubblewrap_engine
from local_backend.sandboxes.docker.containers import ImageFacts, container_config
from local_backend.sandboxes.docker.gpus import NO_GPUS, device_requests
from local_backend.sandboxes.interface import SandboxDevice, SandboxError, SandboxRefusedError

GPU = SandboxDevice("GPU-1", "3")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, as /dev: a sandbox is made as another user."""
    with tempfile.TemporaryDirectory(prefix="nodus-test-dev.") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def device(open_folder: Path) -> SandboxDevice:
    """A device whose files read as zeros, and as nothing."""
    folder = open_folder
    try:
        for name, number in (("nvidia0", 5), ("nvidiactl", 3), ("nvidia-cap31", 3)):
            os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, number))
            (folder / name).chmod(0o666)
        (folder / "nvidia0").open("rb").close()
    except OSError as error:
        pytest.skip(f"device files cannot be made and opened here: {error.strerror}")
    places = {"nvidia0": "/dev/nvidia0", "nvidiactl": "/dev/nvidiactl", "nvidia-cap31": "/dev/nvidia-caps/nvidia-cap31"}
    return SandboxDevice("GPU-1", "0", tuple((str(folder / name), inside) for name, inside in places.items()))


async def test_a_bubblewrap_sandbox_sees_its_devices_and_no_others(
    device: SandboxDevice, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_folder / "libcuda.so.1"
    library.write_text("of the driver")
    monkeypatch.setattr(bubblewrap_engine, "driver_files", lambda: {"/opt/nvidia/lib/libcuda.so.1": str(library)})
    try:
        engine = await connect("bubblewrap")
    except SandboxError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    try:
        async with sandbox_of(engine, "with-a-device", devices=(device,)) as sandbox:
            assert await said(sandbox, "ls /dev | grep nvidia") == "nvidia-caps\nnvidia0\nnvidiactl\n"
            assert await said(sandbox, "cat /dev/nvidia-caps/nvidia-cap31; ls /dev/nvidia-caps") == "nvidia-cap31\n"
            assert await said(sandbox, "head -c 3 /dev/nvidia0 | od -An -tx1; head -c 3 /dev/nvidiactl") == " 00 00 00\n"
            assert await said(sandbox, "echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES") == "GPU-1 GPU-1\n"
            assert await said(sandbox, "cat $LD_LIBRARY_PATH/libcuda.so.1") == "of the driver"
            assert (await shell(sandbox, "touch /dev/other")).exit_code != 0
        missing = SandboxDevice("GPU-2", "1", ((str(open_folder / "nvidia9"), "/dev/nvidia9"),))
        with pytest.raises(SandboxError, match="nvidia9"):
            await engine.create(request("missing", devices=(missing,)))
        async with sandbox_of(engine, "without") as sandbox:
            assert await said(sandbox, "ls /dev | grep nvidia || echo $CUDA_VISIBLE_DEVICES none $LD_LIBRARY_PATH") == "none\n"
    finally:
        await engine.aclose()


def test_docker_is_asked_for_devices_by_their_uuids() -> None:
    wanted = docker_request("r", devices=(GPU,))
    config = container_config(wanted, ImageFacts("sha256:1", "image"), gpus=device_requests(wanted.devices, {"Runtimes": {"runc": {}}}))
    assert config["HostConfig"]["DeviceRequests"] == [{"Driver": "", "DeviceIDs": ["GPU-1"], "Capabilities": [["gpu"]]}]
    assert {"CUDA_VISIBLE_DEVICES=GPU-1", "NVIDIA_VISIBLE_DEVICES=GPU-1"} <= set(config["Env"])


def test_an_image_that_names_devices_gets_none_unasked() -> None:
    config = container_config(docker_request("r"), ImageFacts("sha256:1", "image"))
    assert config["HostConfig"]["DeviceRequests"] == []
    assert config["Env"] == ["NVIDIA_VISIBLE_DEVICES=void"]


def discovered(*names: str) -> dict[str, object]:
    return {"Runtimes": {"runc": {}}, "DiscoveredDevices": [{"Source": "cdi", "ID": name} for name in names]}


def test_by_cdi_where_the_engine_has_no_runtime_for_gpus() -> None:
    by_number = discovered("vendor.com/net=0", "nvidia.com/gpu=3", "nvidia.com/gpu=all")
    assert device_requests((GPU,), by_number) == [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=3"]}]
    by_uuid = discovered("nvidia.com/gpu=3", "nvidia.com/gpu=GPU-1")
    assert device_requests((GPU,), by_uuid) == [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-1"]}]
    with_runtime = {**by_uuid, "Runtimes": {"nvidia": {}}}
    assert device_requests((GPU,), with_runtime)[0]["DeviceIDs"] == ["GPU-1"]
    with pytest.raises(SandboxRefusedError, match=r"knows no device 3 .*nvidia-ctk cdi generate"):
        device_requests((GPU,), discovered("nvidia.com/gpu=0"))


async def test_an_engine_without_gpus_says_what_it_needs() -> None:
    async with user_engine() as engine:
        with pytest.raises(SandboxError, match="NVIDIA Container Toolkit") as caught:
            await engine.create(docker_request("no-gpus", devices=(GPU,)))
        assert NO_GPUS in str(caught.value)
