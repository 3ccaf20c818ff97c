"""Passing notices of budgets on: by a command of the user's, and by e-mail through the configured server. The log has every one anyway.

A notice that cannot be passed on is told in the log and never holds work up.
"""

import asyncio
import json
import logging
import os
import signal
import smtplib
import ssl
from collections.abc import Mapping
from contextlib import suppress
from email.errors import MessageError
from email.message import EmailMessage

from local_backend.budgets.keeper import Notice
from nodus_tui.contract.configuration import SmtpSettings
from nodus_tui.contract.money import usd_from_nano, usd_text

_log = logging.getLogger(__name__)

_COMMAND_SECONDS = 30.0
_MAIL_SECONDS = 30.0
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
"""What a command gets of the scheduler's environment: no key is among it."""


class Notices:
    """One a scheduler; used on one event loop."""

    def __init__(self, smtp: SmtpSettings | None, environ: Mapping[str, str]) -> None:
        self._smtp = smtp
        self._environ = environ
        self._passing: set[asyncio.Task[None]] = set()

    def tell(self, notice: Notice) -> None:
        """Pass it on in the background."""
        for work in (self._by_command(notice), self._by_mail(notice)):
            task = asyncio.create_task(work)
            self._passing.add(task)
            task.add_done_callback(self._passing.discard)

    async def aclose(self) -> None:
        """Let what is being passed on come to its end; each has its own time limit."""
        await asyncio.gather(*self._passing, return_exceptions=True)

    async def _by_command(self, notice: Notice) -> None:
        command = notice.budget.spec.notify.command
        if not command:
            return
        environ = {name: self._environ[name] for name in _INHERITED if name in self._environ}
        environ.setdefault("PATH", os.defpath)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            _log.error("the notice of budget %s could not be given to %s: %s", notice.budget.name, command[0], error)
            return
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                await process.communicate(json.dumps(notice_document(notice)).encode())
        except TimeoutError:
            # With what it started: a script's own children would stay.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            _log.error(
                "%s took longer than %g s for the notice of budget %s and was killed", command[0], _COMMAND_SECONDS, notice.budget.name
            )
            return
        if process.returncode:
            _log.error("%s left with status %s at the notice of budget %s", command[0], process.returncode, notice.budget.name)

    async def _by_mail(self, notice: Notice) -> None:
        receivers = notice.budget.spec.notify.emails
        if not receivers:
            return
        if self._smtp is None:
            _log.error("budget %s names e-mail addresses, but the configuration has no smtp server", notice.budget.name)
            return
        try:
            await asyncio.to_thread(self._send, self._smtp, notice, receivers)
        except (OSError, ValueError, MessageError, smtplib.SMTPException) as error:
            _log.error("the notice of budget %s could not be sent by e-mail: %s", notice.budget.name, error)

    def _send(self, smtp: SmtpSettings, notice: Notice, receivers: tuple[str, ...]) -> None:
        mail = EmailMessage()
        mail["From"], mail["To"] = smtp.sender, ", ".join(receivers)
        mail["Subject"] = f"Budget {notice.budget.name}: {notice.percent} %"
        mail.set_content(f"{notice.sentence()}.\n\n{json.dumps(notice_document(notice), indent=2)}\n")
        context = ssl.create_default_context()
        if smtp.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(smtp.host, smtp.port, timeout=_MAIL_SECONDS, context=context)
        else:
            server = smtplib.SMTP(smtp.host, smtp.port, timeout=_MAIL_SECONDS)
        with server:
            if smtp.security == "starttls":
                server.starttls(context=context)
            if smtp.username is not None and smtp.password_env is not None:
                if smtp.password_env not in self._environ:
                    raise ValueError(f"{smtp.password_env}, which holds the password of {smtp.username}, is not set for the scheduler")
                server.login(smtp.username, self._environ[smtp.password_env])
            server.send_message(mail)


def notice_document(notice: Notice) -> dict[str, object]:
    """A notice as a command reads it on its standard input: JSON with fixed names."""
    return {
        "budget": notice.budget.name,
        "percent": notice.percent,
        "action": notice.budget.spec.action,
        "spentUSD": usd_text(usd_from_nano(notice.spent)),
        "limitUSD": usd_text(usd_from_nano(notice.limit)),
        "at": notice.at.isoformat(),
        "message": notice.sentence(),
    }
