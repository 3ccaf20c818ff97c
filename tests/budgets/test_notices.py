"""Notices of budgets: by e-mail through real servers on loopback, and by real commands. What fails is told in the log and nowhere else."""

import asyncio
import json
import logging
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from local_backend.budgets import notices
from local_backend.budgets.keeper import Notice
from local_backend.budgets.notices import Notices
from nodus_tui.contract.configuration import SmtpSettings
from nodus_tui.contract.resources.budget import Budget

pytestmark = pytest.mark.timeout(60)

KEY = "sk-of-a-model-that-no-hook-may-see"


def notice(*, emails: tuple[str, ...] = (), command: tuple[str, ...] = (), percent: int = 80) -> Notice:
    budget = Budget.model_validate(
        {
            "metadata": {"name": "month"},
            "spec": {"limitUSD": "2.00", "notify": {"emails": list(emails), "command": list(command)}},
        }
    )
    return Notice(budget, percent, 1_650_000_000, 2_000_000_000, datetime(2026, 1, 2, 3, 4, tzinfo=UTC))


async def tell(told: Notice, smtp: SmtpSettings | None = None, environ: Mapping[str, str] | None = None) -> None:
    passing = Notices(smtp, {"PATH": os.environ["PATH"], **(environ or {})})
    passing.tell(told)
    await passing.aclose()


# E-mail.


@dataclass
class Post:
    """What a server took."""

    port: int = 0
    envelopes: list[Envelope] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)

    async def handle_DATA(self, _server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        self.envelopes.append(envelope)
        self.encrypted.append(session.ssl is not None)
        return "250 taken"

    def letter(self) -> Message:
        (envelope,) = self.envelopes
        assert isinstance(envelope.content, bytes)
        return message_from_bytes(envelope.content)


@asynccontextmanager
async def post_office(**options: Any) -> AsyncIterator[Post]:
    """A real SMTP server on a port of its own."""
    post = Post()
    implicit = options.pop("implicit", None)
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(post, hostname="localhost", **options), "127.0.0.1", 0, ssl=implicit
    )
    post.port = server.sockets[0].getsockname()[1]
    try:
        yield post
    finally:
        server.close()
        await server.wait_closed()


def settings(post: Post, security: str = "none", **more: object) -> SmtpSettings:
    host = "127.0.0.1" if security == "none" else "localhost"
    document = {"host": host, "port": post.port, "security": security, "sender": "nodus@example.com", **more}
    return SmtpSettings.model_validate(document)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ssl.SSLContext]:
    """A server's side of TLS; its authority is trusted in this process."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))

    def context(authority: trustme.CA = authority) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost", "127.0.0.1").configure_cert(made)
        return made

    return context


async def test_a_letter_reaches_everyone_named_with_the_notice_in_words_and_as_json() -> None:
    async with post_office() as post:
        await tell(notice(emails=("a@example.com", "b@example.org")), settings(post))
    letter = post.letter()
    assert post.envelopes[0].mail_from == letter["From"] == "nodus@example.com"
    assert post.envelopes[0].rcpt_tos == ["a@example.com", "b@example.org"]
    assert letter["Subject"] == "Budget month: 80 %"
    text = letter.get_payload()
    assert isinstance(text, str)
    sentence, _, document = text.replace("\r\n", "\n").partition("\n\n")
    assert sentence == "budget month has reached 80%: $1.65 of $2.00 is spent."
    assert json.loads(document)["spentUSD"] == "1.65"
    assert post.encrypted == [False]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_it_is_sent_encrypted_with_a_login(security: str, served: Callable[[], ssl.SSLContext]) -> None:
    logins: list[tuple[bytes, bytes]] = []

    def check(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
        logins.append((data.login, data.password))
        return AuthResult(success=True)

    sides: dict[str, Any] = (
        {"tls_context": served(), "require_starttls": True, "auth_required": True}
        if security == "starttls"
        # On a port that is encrypted from the start aiosmtpd does not see that it is.
        else {"implicit": served(), "auth_require_tls": False}
    )
    async with post_office(authenticator=check, **sides) as post:
        login = settings(post, security, username="nodus", passwordEnv="SMTP_PASSWORD")
        await tell(notice(emails=("a@example.com",)), login, {"SMTP_PASSWORD": "secret"})
    assert post.letter()["To"] == "a@example.com"
    assert set(logins) == {(b"nodus", b"secret")}
    if security == "starttls":
        assert post.encrypted == [True]


async def test_a_server_that_is_not_who_it_says_gets_nothing(
    served: Callable[..., ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    async with post_office(tls_context=served(trustme.CA())) as post:
        await tell(notice(emails=("a@example.com",)), settings(post, "starttls"))
    assert post.envelopes == []
    assert "could not be sent by e-mail" in caplog.text
    assert "certificate verify failed" in caplog.text


async def test_a_server_without_encryption_is_not_used_in_the_clear(caplog: pytest.LogCaptureFixture) -> None:
    async with post_office() as post:
        await tell(notice(emails=("a@example.com",)), settings(post, "starttls"))
    assert post.envelopes == []
    assert "STARTTLS extension not supported" in caplog.text


async def test_a_refused_login_is_told_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*_: object) -> AuthResult:
        return AuthResult(success=False, handled=False)

    async with post_office(authenticator=refuse, auth_require_tls=False) as post:
        login = settings(post, username="nodus", passwordEnv="SMTP_PASSWORD")
        await tell(notice(emails=("a@example.com",)), login, {"SMTP_PASSWORD": "wrong-secret"})
        await tell(notice(emails=("a@example.com",)), login)
    assert post.envelopes == []
    first, second = (record.getMessage() for record in caplog.records if record.name == "local_backend.budgets.notices")
    assert "could not be sent by e-mail" in first
    assert "535" in first
    assert "wrong-secret" not in caplog.text
    assert "SMTP_PASSWORD, which holds the password of nodus, is not set" in second


async def test_a_dead_server_and_none_at_all_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async with post_office() as post:
        gone = settings(post)
    await tell(notice(emails=("a@example.com",)), gone)
    assert "the notice of budget month could not be sent by e-mail" in caplog.text
    await tell(notice(emails=("a@example.com",)))
    assert "the configuration has no smtp server" in caplog.text


async def test_a_server_that_never_speaks_is_given_up(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(notices, "_MAIL_SECONDS", 0.2)
    # The system takes the connection, and nobody ever answers it.
    with socket.create_server(("127.0.0.1", 0)) as server:
        await tell(notice(emails=("a@example.com",)), settings(Post(port=server.getsockname()[1])))
    assert "timed out" in caplog.text


# Commands.


def script(text: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text, *arguments)


async def test_a_command_gets_the_notice_as_json_and_none_of_the_schedulers_secrets(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    text = "import json, os, sys; json.dump({'in': json.load(sys.stdin), 'env': dict(os.environ)}, open(sys.argv[1], 'w'))"
    await tell(notice(command=script(text, str(told)), percent=100), None, {"ANTHROPIC_API_KEY": KEY, "SMTP_PASSWORD": KEY, "HOME": "/"})
    heard = json.loads(told.read_text())
    assert heard["in"] == {
        "budget": "month",
        "percent": 100,
        "action": "Block",
        "spentUSD": "1.65",
        "limitUSD": "2.00",
        "at": "2026-01-02T03:04:00+00:00",
        "message": "budget month has reached 100%: $1.65 of $2.00 is spent; new work is refused and running work stops",
    }
    assert heard["env"]["HOME"] == "/"
    assert KEY not in told.read_text()
    assert set(heard["env"]) <= {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LC_CTYPE"}


async def test_a_hanging_command_is_killed_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notices, "_COMMAND_SECONDS", 2.0)
    pids = tmp_path / "pids"
    await tell(notice(command=("sh", "-c", 'sleep 1000 & echo "$$ $!" >"$0"; wait', str(pids))))
    assert "took longer than 2 s for the notice of budget month and was killed" in caplog.text
    for pid in map(int, pids.read_text().split()):
        while _lives(pid):
            await asyncio.sleep(0.01)


def _lives(pid: int) -> bool:
    """Whether a process is there and no zombie that nobody has fetched yet."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/no/such/command",), "could not be given to /no/such/command: [Errno 2]"),
        (script("raise SystemExit(3)"), "left with status 3 at the notice of budget month"),
    ],
)
async def test_a_command_that_is_missing_or_fails_is_told(command: tuple[str, ...], words: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        await tell(notice(command=command))
    assert words in caplog.text


async def test_a_command_that_reads_nothing_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    await tell(notice(command=("true",)))
    assert caplog.records == []
