"""Which files of the driver belong to a device, and which others its holder must not open; in a folder that stands in for /dev."""

from pathlib import Path

import pytest
from device_records import device

from local_backend.devices.device_files import NoFileError, hidden_files, sandbox_devices
from local_backend.sandboxes.bubblewrap.driver import libraries_in, variables


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    folder = tmp_path / "dev"
    (folder / "nvidia-caps").mkdir(parents=True)
    for name in ("nvidia0", "nvidia1", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"):
        (folder / name).touch()
    for number in (1, 30, 31, 40, 41):
        (folder / "nvidia-caps" / f"nvidia-cap{number}").touch()
    return folder


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    for part, number in (("gi7/access", 30), ("gi7/ci0/access", 31), ("gi9/access", 40), ("gi9/ci0/access", 41)):
        path = tmp_path / "proc/driver/nvidia/capabilities/gpu1/mig" / part
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"DeviceFileMinor: {number}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
    return tmp_path / "proc"


def test_a_device_is_its_file_and_what_all_share(dev: Path, proc: Path) -> None:
    (found,) = sandbox_devices([device(0, minor=12)], dev, proc)
    assert (found.uuid, found.place) == ("GPU-0", "0")
    assert found.files == tuple((f"{dev}/{name}", f"/dev/{name}") for name in ("nvidia12", "nvidiactl", "nvidia-uvm"))


def test_a_slice_is_its_device_with_the_rights_to_its_part(dev: Path, proc: Path) -> None:
    part = device(1, minor=1, gpu_instance=7, compute_instance=0)
    (found,) = sandbox_devices([part], dev, proc)
    assert [inside for _, inside in found.files[:3]] == ["/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"]
    hidden = hidden_files([part], dev, proc)
    assert hidden == tuple(
        sorted(f"{dev}/{name}" for name in ("nvidia0", "nvidia12", *(f"nvidia-caps/nvidia-cap{number}" for number in (1, 40, 41))))
    )


def test_without_devices_all_of_them_are_hidden_and_nothing_else(dev: Path, proc: Path, tmp_path: Path) -> None:
    names = {Path(path).name for path in hidden_files([], dev, proc)}
    assert names == {"nvidia0", "nvidia1", "nvidia12", *(f"nvidia-cap{number}" for number in (1, 30, 31, 40, 41))}
    assert hidden_files([], tmp_path / "none", proc) == ()


def test_a_device_without_a_file_is_said(dev: Path, proc: Path) -> None:
    unknown, part = device(0), device(1, minor=1, gpu_instance=3, compute_instance=0)
    with pytest.raises(NoFileError, match=r"does not tell which file in .* is that of device 0"):
        hidden_files([unknown], dev, proc)
    with pytest.raises(NoFileError, match="the right to slice 1 cannot be found"):
        hidden_files([part], dev, proc)
    assert [each.files for each in sandbox_devices([unknown, part], dev, proc)] == [(), ()]


def test_the_drivers_libraries_are_those_that_programs_compute_with() -> None:
    listed = """2 libs found in cache `/etc/ld.so.cache'
\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1
\tlibcuda.so.1 (libc6) => /usr/lib/i386-linux-gnu/libcuda.so.1
\tlibcuda.so (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so
\tlibnvidia-ml.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
\tlibnvidia-glcore.so.580 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnvidia-glcore.so.580
\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12
\tlibc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6
"""
    found = libraries_in(listed)
    assert found == {f"/opt/nvidia/lib/{name}": f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("libcuda.so.1", "libnvidia-ml.so.1")}
    assert variables(found, "/bin") == {"LD_LIBRARY_PATH": "/opt/nvidia/lib", "PATH": "/bin:/opt/nvidia/bin"}
    assert variables({}, "/bin") == {}
