"""`serve`, `token` and `--connect`: another client over TLS, as a viewer and as an operator."""

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cli_workspace import COMMAND
from detached import DetachedWorkspace, going, in_folder
from ways import Authority

from nodus_tui import __version__

pytestmark = pytest.mark.timeout(100)


@contextlib.asynccontextmanager
async def serving(place: DetachedWorkspace, *arguments: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """`nodus-tui serve` at work: the URL that it tells, and its process."""
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=place.environment,
    )
    assert process.stderr is not None
    try:
        said = ""
        while " at http" not in said:
            line = (await process.stderr.readline()).decode()
            assert line, said
            said += line
        yield said.partition(" at ")[2].partition(";")[0], process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.mark.parametrize("in_process", [False, True])
async def test_others_look_and_act_over_tls_each_with_a_token(tmp_path: Path, in_process: bool) -> None:
    place, elsewhere = in_folder(tmp_path / "here"), in_folder(tmp_path / "there")
    authority = Authority(tmp_path)
    operator = place.called("token", "create", "ann", "--role", "operator").stdout.strip()
    viewer = place.called("token", "create", "vera", "--role", "viewer").stdout.strip()
    way = ("--in-process",) if in_process else ()
    tls = ("--listen", "127.0.0.1:0", "--tls-cert", str(authority.certificate), "--tls-key", str(authority.key))
    async with serving(place, *way, "serve", *tls) as (told, process):
        url = told.replace("127.0.0.1", "localhost")

        async def call(token: str, *arguments: str) -> tuple[int, str, str]:
            env = {"NODUS_URL": url, "NODUS_TOKEN": token, "NODUS_CA": str(authority.ca)}
            way_there = elsewhere.installed if arguments[0] == "run" else elsewhere.called
            done = await asyncio.to_thread(way_there, *arguments, env=env)
            return done.returncode, done.stdout, done.stderr

        code, out, err = await call(operator, "run", "-f", place.spec(tasks=2), "--json", "-q")
        assert code == 0, err
        assert json.loads(out)["coverage"] == {"scored": 2, "total": 2}
        code, out, _ = await call(viewer, "results", "hello", "--json")
        assert json.loads(out)["passRate"] == 1.0
        code, _, err = await call(viewer, "kill", "hello", "--yes")
        assert code == 2
        assert "viewer" in err
        code, _, err = await call("nodus_wrong", "get", "groups")
        assert code == 2
        assert "NODUS_TOKEN" in err
        assert place.called("token", "revoke", "vera").returncode == 0
        assert (await call(viewer, "get", "groups"))[0] == 2
        assert bool(place.processes()) is not in_process
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert elsewhere.processes() == []
    assert not elsewhere.home.exists() or not (elsewhere.home / "nodus.db").exists()


async def test_doctor_checks_the_machine_of_the_api_and_of_this_one_what_a_client_needs(tmp_path: Path) -> None:
    place, elsewhere = in_folder(tmp_path / "here"), in_folder(tmp_path / "there")
    token = place.called("token", "create", "vera", "--role", "viewer").stdout.strip()
    async with serving(place, "serve", "--listen", "127.0.0.1:0") as (url, _):

        async def doctor(token: str, *arguments: str) -> tuple[int, str]:
            done = await asyncio.to_thread(lambda: elsewhere.called("doctor", *arguments, env={"NODUS_URL": url, "NODUS_TOKEN": token}))
            return done.returncode, done.stdout

        code, out = await doctor(token)
        assert code == 0
        here, _, there = out.partition(f"There, at {url}\n")
        assert here.startswith("On this machine\nok    python: ")
        assert not {"workspace:", "sqlite:", "configuration:", "model "} & set(here.replace(":", ": ").split())
        assert f"backend: local {__version__}, {place.home}" in there
        assert f"machine: {socket.gethostname()}, " in there
        assert "model perfect: simulated" in there
        assert str(elsewhere.home) not in out
        checks = json.loads((await doctor(token, "--json"))[1])["checks"]
        assert {check["where"] for check in checks} == {"here", "there"}
        code, out = await doctor("nodus_wrong")
        assert code == 4
        assert "NODUS_TOKEN" in out


async def test_work_goes_on_when_the_server_for_others_ends(tmp_path: Path) -> None:
    place = in_folder(tmp_path)
    token = place.called("token", "create", "ann", "--role", "operator").stdout.strip()
    async with serving(place, "serve", "--listen", "127.0.0.1:0") as (url, process):
        env = {"NODUS_URL": url, "NODUS_TOKEN": token}
        done = await asyncio.to_thread(lambda: place.installed("run", "-f", place.spec(family="slow", tasks=1), "--detach", env=env))
        assert done.returncode == 0, done.stderr
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    await place.group_when("hello", going(1))


def test_tokens_are_listed_without_their_secret(tmp_path: Path) -> None:
    place = in_folder(tmp_path)
    secret = place.called("token", "create", "ann", "--role", "viewer").stdout.strip()
    listed = place.called("token", "list", "--json")
    assert [(each["name"], each["role"]) for each in json.loads(listed.stdout)] == [("ann", "viewer")]
    assert secret not in listed.stdout
    assert "ann" in place.called("token", "list").stdout
    assert all(secret not in path.read_text(encoding="utf-8") for path in place.home.iterdir() if path.is_file())
    assert place.called("token", "create", "ann", "--role", "viewer").returncode == 2
    assert place.called("token", "revoke", "nobody").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--listen", "everywhere"), "HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "HOST:PORT"),
        (("--listen", "0.0.0.0:0"), "behind"),
        (("--tls-cert", "CERT"), "belong together"),
        (("--tls-cert", "CERT", "--tls-key", "CERT"), ""),
    ],
)
def test_what_cannot_be_served_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    place = in_folder(tmp_path)
    place.write("no certificate", "CERT")
    done = place.installed("--in-process", "serve", *arguments)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_two_ways_at_once_are_refused(tmp_path: Path) -> None:
    place = in_folder(tmp_path)
    assert place.called("--in-process", "--connect", "http://localhost:1", "get", "groups").returncode == 2
    assert place.called("--connect", "nowhere", "get", "groups").returncode == 2
