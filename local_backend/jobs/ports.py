"""Whether a port of this machine is free for a server, and who has it where it is not."""

import errno
import socket

LOOPBACK = "127.0.0.1"


def port_problem(port: int) -> str:
    """Why a command could not listen on this port now, as a sentence without its subject; empty where it could. Blocking, for a moment."""
    with socket.socket() as probe:
        # Connections of an earlier server that are still being closed stand in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return f"port {port} of this machine is taken{_by(port)}: end that, or give serve.port and the command another"
            return f"port {port} of this machine cannot be listened on ({error.strerror}): give serve.port and the command another"
    return ""


def _by(port: int) -> str:
    import psutil  # noqa: PLC0415 - wanted where something is in the way only

    try:
        listening = [
            each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port
        ]
    except (psutil.Error, OSError):
        return ""
    for each in listening:
        if each.pid is None:
            continue
        try:
            process = psutil.Process(each.pid)
            job = process.environ().get("NODUS_JOB", "")
            return f" by {process.name()} (process {each.pid}{f', of job {job}' if job else ''})"
        except (psutil.Error, OSError):
            return f" by process {each.pid}"
    return ""
