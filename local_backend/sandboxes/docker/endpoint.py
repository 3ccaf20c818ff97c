"""Which Docker engine the user means, as Docker's own command line decides it. It reads configuration files; it asks no engine.

The order is that of the docker command: DOCKER_HOST, then DOCKER_CONTEXT, then the current context in the configuration file, then a
socket where engines put theirs (Docker's, Docker Desktop's, a rootless one's). It is decided here and not by a library
because both known ones read the environment of the process instead of the one they are given, and one of them prefers contexts to
DOCKER_HOST.
"""

import hashlib
import json
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from local_backend.sandboxes.interface import SandboxError


class Endpoint(Struct, frozen=True):
    """Where an engine answers: a unix socket, or a host with a port, with or without TLS."""

    name: str
    """As the user knows it, for messages."""
    unix: str | None = None
    host: str = ""
    port: int = 0
    tls: ssl.SSLContext | None = None

    @property
    def base_url(self) -> str:
        """What the paths of requests are appended to."""
        if self.unix is not None:
            return "http://docker"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"


def configuration_folder(environ: Mapping[str, str]) -> Path:
    """Docker's configuration folder of this user."""
    named = environ.get("DOCKER_CONFIG")
    return Path(named) if named else Path(environ.get("HOME") or Path.home()) / ".docker"


def find_endpoint(environ: Mapping[str, str]) -> Endpoint:
    """The engine that the user means. Raises SandboxError when there is none, or when what is configured cannot be used."""
    if host := environ.get("DOCKER_HOST"):
        return _endpoint(host, f"{host} (DOCKER_HOST)", _tls_of_environment(environ) if not host.startswith("unix:") else None)
    folder = configuration_folder(environ)
    context = environ.get("DOCKER_CONTEXT") or _read_json(folder / "config.json").get("currentContext")
    if context and context != "default":
        return _context_endpoint(folder, str(context))
    for path in _usual_sockets(environ):
        if _is_socket(path):
            return Endpoint(name=f"unix://{path}", unix=str(path))
    raise SandboxError("no Docker engine was found: DOCKER_HOST is not set, no Docker context is chosen, and no engine's socket is there")


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:
        return False  # In another user's folder, say.


def _usual_sockets(environ: Mapping[str, str]) -> list[Path]:
    paths = [Path("/var/run/docker.sock"), Path(environ.get("HOME") or Path.home(), ".docker", "run", "docker.sock")]
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        paths.append(Path(runtime, "docker.sock"))
    return paths


def _endpoint(host: str, name: str, tls: ssl.SSLContext | None) -> Endpoint:
    try:
        parts = urlsplit(host)
    except ValueError as error:
        raise SandboxError(f"{name}: {error}") from error
    if parts.scheme == "unix":
        return Endpoint(name=name, unix=parts.path or host.removeprefix("unix://"))
    if parts.scheme == "ssh":
        raise SandboxError(
            f"{name}: engines behind ssh:// are not spoken to directly. Forward the engine's socket with "
            f"'ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock {parts.netloc}' and set DOCKER_HOST=unix:///tmp/engine.sock"
        )
    if parts.scheme not in {"tcp", "http", "https"}:
        raise SandboxError(f"{name}: an engine's address begins with unix:// or tcp://")
    try:
        port = parts.port
    except ValueError as error:
        raise SandboxError(f"{name}: {error}") from error
    if not parts.hostname:
        raise SandboxError(f"{name}: the address names no host")
    if parts.scheme == "https" and tls is None:
        tls = ssl.create_default_context()
    return Endpoint(name=name, host=parts.hostname, port=port or (2376 if tls else 2375), tls=tls)


def _tls_of_environment(environ: Mapping[str, str]) -> ssl.SSLContext | None:
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    if not verify and not environ.get("DOCKER_TLS"):
        return None
    named = environ.get("DOCKER_CERT_PATH")
    return _tls(Path(named) if named else configuration_folder(environ), verify=verify, where="DOCKER_CERT_PATH")


def _context_endpoint(folder: Path, context: str) -> Endpoint:
    # Docker files its contexts under the digest of their name.
    key = hashlib.sha256(context.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / key / "meta.json"
    if not os.path.isfile(meta):  # noqa: PTH113 - it says no where a folder on the way may not be looked into
        raise SandboxError(
            f"the Docker context {context!r} is chosen, but {meta} does not exist: 'docker context ls' shows which there are"
        )
    document = _read_json(meta)
    try:
        docker = document["Endpoints"]["docker"]
        host = str(docker["Host"])
    except (KeyError, TypeError) as error:
        raise SandboxError(f"the Docker context {context!r} names no engine: {meta} has no Endpoints.docker.Host") from error
    certificates = folder / "contexts" / "tls" / key / "docker"
    tls = None
    if os.path.isdir(certificates):  # noqa: PTH112 - likewise
        tls = _tls(certificates, verify=not docker.get("SkipTLSVerify"), where=f"the Docker context {context!r}")
    return _endpoint(host, f"{host} (Docker context {context!r})", tls)


def _tls(folder: Path, *, verify: bool, where: str) -> ssl.SSLContext:
    """A context from ca.pem, cert.pem and key.pem, as Docker names them; each may be absent."""
    authority, certificate, key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
    try:
        tls = ssl.create_default_context(cafile=str(authority) if authority.exists() else None)
        if not verify:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        if certificate.exists():
            tls.load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError is one.
        raise SandboxError(f"the certificates of {where} in {folder} cannot be used: {error}") from error
    return tls


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SandboxError(f"Docker's configuration {path} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise SandboxError(f"Docker's configuration {path} is not an object")
    return document
