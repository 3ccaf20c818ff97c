"""`nodus-tui web` as people meet it: the installed command, a real workspace, and its page in a headless Chromium.

One browser for everything, since its start is what costs.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from chromium import chromium, shows
from ways import bundle_of, spec_text

from local_backend.backend import LocalBackend, open_local
from nodus_tui.connect import hosting
from nodus_tui.contract.backend import BackendOptions
from nodus_tui.contract.phases import GroupPhase

pytestmark = pytest.mark.timeout(180)

HOSTILE = "<img src=x onerror=hit()> <script>hit()</script> \x1b]0;owned\x07 \x1b]52;c;aGl0\x07 \u202e https://evil.example/x &lt;b&gt;"

CONFIGURATION = f"""\
models:
  - family: hostile
    provider: simulated
    name: simulated-hostile
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated: {{accuracy: 1.0, outputTokens: 20, script: [{{text: {json.dumps(HOSTILE)}}}]}}
  - family: slow
    provider: simulated
    name: simulated-slow
    price: {{inputPerMTok: "1.00", outputPerMTok: "5.00", notional: true}}
    simulated: {{accuracy: 1.0, outputTokens: 20, latencySeconds: 600, seed: 1}}
"""


@contextmanager
def web(folder: Path, *arguments: str) -> Iterator[tuple[str, str, psutil.Process]]:
    """The command at work: its address, the key that it printed, its process."""
    environment = {**os.environ, "NODUS_HOME": str(folder / "home"), "NODUS_CONFIG": str(folder / "config.yaml"), "NO_COLOR": "1"}
    command = [str(Path(os.sys.executable).with_name("nodus-tui")), "web", *arguments]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = ""
        while (line := server.stderr.readline()) and not (found := re.search(r"(http://127\.0\.0\.1:\d+)/#key=(\S+)", line)):
            said += line
        assert line, said
        try:
            yield found[1], found[2], psutil.Process(server.pid)
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == 0


def consoles_of(server: psutil.Process) -> list[psutil.Process]:
    return [child for child in server.children(recursive=True) if "nodus_tui.cli.browser_console" in child.cmdline()]


async def launched(backend: LocalBackend, name: str, family: str) -> None:
    await backend.apply(bundle_of(spec_text(name, family=family, tasks=2)))


async def test_the_console_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text(CONFIGURATION, encoding="utf-8")
    home = tmp_path / "home"
    options = BackendOptions(home=home, config=tmp_path / "config.yaml", role="work")
    asked: list[str] = []
    async with await open_local(options) as backend, chromium() as browser:
        await launched(backend, "words", "hostile")
        await launched(backend, "going", "slow")
        viewer = hosting().create_token(home, "wall", "viewer")
        operator = hosting().create_token(home, "olga", "operator")
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(f"error {error}"))
        page.on("popup", lambda popup: asked.append(f"popup {popup.url}"))
        page.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
        await page.add_init_script("window.hit = () => { window.wasHit = true; }")
        with web(tmp_path, "--listen", "127.0.0.1:0", "--operator") as (url, link, server):
            # Without a key, and with a wrong one, there is a form and no console.
            await page.goto(f"{url}/#key=wrong")
            await page.wait_for_selector("#sign-in:not([hidden])")
            assert await page.inner_text("#said") == "This key is not known here."
            assert page.url == f"{url}/", "the key does not stay in the address"
            await page.reload()
            await page.wait_for_selector("#sign-in:not([hidden])")
            assert await page.inner_text("#said") == "This console needs a key."
            assert consoles_of(server) == []
            # A viewer's token opens it; all views are there, and nothing can be done.
            await page.fill("#key", f" {viewer} ")
            await page.press("#key", "Enter")
            text = await shows(page, "words", "going", "► Running")
            assert await page.is_hidden("#panel")
            assert "kill" not in text.splitlines()[-1]
            await page.keyboard.press("x")
            await shows(page, "You look on as a viewer")
            await page.keyboard.press("l")
            await shows(page, "A browser has no part in the files of the machine")
            await page.keyboard.press(":")
            await shows(page, "which view?")
            await page.keyboard.type("gpus")
            await page.wait_for_function("() => !document.querySelector('.xterm-rows').textContent.includes('budgets')")
            await page.keyboard.press("Enter")
            await shows(page, "nodus › GPUs")
            # Its size is the window's: one that is too small gets the console's own sentence about that.
            await page.set_viewport_size({"width": 500, "height": 300})
            await shows(page, "The console needs at least")
            await page.set_viewport_size({"width": 1000, "height": 700})
            await shows(page, "nodus › GPUs")
            # With the key that was printed, at another view: what a model wrote is text, and nothing else.
            await page.goto(f"{url}/?view=group/words&font=14#key={link}")
            await shows(page, "campaigns › words", "● Completed")
            await page.keyboard.press("Enter")
            await shows(page, "<img src=x onerror=hit()>", "<script>hit()</script>", "&lt;b&gt;", "␛]0;owned␇", "<U+202E>")
            address = page.locator(".xterm-rows > div", has_text="https://evil.example").first
            await address.hover()
            await address.click(modifiers=["ControlOrMeta"])
            assert await page.title() == "nodus"
            assert await page.evaluate("() => [window.wasHit, document.scripts.length, document.images.length]") == [None, 2, 0]
            # A browser that goes takes its console with it.
            (console,) = consoles_of(server)
            await page.goto("about:blank")
            psutil.wait_procs([console], timeout=60)
            assert not console.is_running()
            # What is lost comes back by itself, when the network is there again.
            await page.goto(f"{url}/?view=group/going")
            text = await shows(page, "campaigns › going", "► Running")
            assert "kill" not in text.splitlines()[-1], "--operator alone lets nobody act"
            (console,) = consoles_of(server)
            await page.context.set_offline(True)
            console.kill()
            said = "() => document.querySelector('#said').textContent.startsWith('The server does not answer')"
            # The last word of the server may not come through: then the page finds out by itself, which takes it up to 40 s.
            await page.wait_for_function(said, timeout=60_000)
            await page.evaluate("(key) => sessionStorage.setItem('nodus-key', key)", operator)
            await page.context.set_offline(False)
            # It is an operator's now, who may act; in their name.
            await page.wait_for_function("() => document.querySelector('#panel').hidden && document.querySelector('.xterm-rows')")
            text = await shows(page, "campaigns › going", "► Running", "kill")
            await page.keyboard.press("Shift+X")
            await shows(page, "Kill group going?", "Cancel")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Enter")
            await shows(page, "× Cancelled")
            await page.keyboard.press("q")
            await page.wait_for_selector("#again:not([hidden])")
            assert await page.inner_text("#said") == "You have left the console."
            await page.close()
        group = await backend.get("AgentGroup", "going")
        assert group.status is not None
        assert group.status.phase is GroupPhase.CANCELLED
    assert {address for address in asked if not address.startswith(url)} <= {"about:blank", "data:,"}
