// The page around the terminal of textual-serve: it brings the key, and opens the console again when it was lost.
"use strict";

(() => {
  const KEY = "nodus-key", LOSSES = "nodus-losses";
  const LEFT = 1000, REVOKED = 4001;
  const STEADY_MS = 10_000;            // A console that was open so long was no failure.
  const BEAT_MS = 10_000, SILENT_MS = 30_000;
  const element = (id) => document.getElementById(id);
  const asked = new URLSearchParams(location.search);

  // The key comes behind the #, which no browser sends anywhere; from there it goes into this tab's memory.
  const brought = new URLSearchParams(location.hash.slice(1)).get("key");
  if (brought !== null) {
    sessionStorage.setItem(KEY, brought);
    history.replaceState(null, "", location.pathname + location.search);
  }
  const key = () => sessionStorage.getItem(KEY) || "";
  const losses = () => Number(sessionStorage.getItem(LOSSES)) || 0;

  function say(text, shown) {
    element("said").textContent = text;
    for (const id of ["sign-in", "again"]) element(id).hidden = id !== shown;
    element("panel").hidden = false;
    if (shown === "sign-in") element("key").focus();
    if (shown === "again") element("again").focus();
  }

  function signIn(text) {
    sessionStorage.removeItem(KEY);
    say(text, "sign-in");
  }

  // Later each time, but never rarely: a wall is to come back by itself.
  function later(text) {
    const seconds = Math.min(15, 2 ** Math.min(4, losses()));
    sessionStorage.setItem(LOSSES, String(losses() + 1));
    say(`${text} Trying again in ${seconds} s.`, "again");
    setTimeout(() => begin(true), seconds * 1000);
  }

  async function begin(anew) {
    if (!key()) return signIn("This console needs a key.");
    let answer, told = {};
    try {
      answer = await fetch("session", { headers: { Authorization: "Bearer " + key() }, cache: "no-store" });
      told = await answer.json();
    } catch {
      return later("The server does not answer.");
    }
    if (answer.status === 401) return signIn(told.detail);
    if (!answer.ok) return later(told.detail || "The server cannot open a console now.");
    if (anew) location.reload(); else await open();
  }

  function closed(code, reason) {
    if (code === LEFT) return say("You have left the console.", "again");
    if (code === REVOKED) return signIn(reason);
    later(reason || "The connection is lost.");
  }

  // The terminal makes its socket itself: this one brings the key and the view, and notices a network that has gone.
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(address) {
      const url = new URL(address);
      if (asked.get("view")) url.searchParams.set("view", asked.get("view"));
      super(url.href, ["nodus.console", "nodus.key." + key()]);
      let heard = Date.now(), over = false;
      const end = (code, reason) => {
        if (over) return;
        over = true;
        clearInterval(beat);
        closed(code, reason);
      };
      const beat = setInterval(() => {
        if (Date.now() - heard > SILENT_MS) {
          this.close();
          end(0, "");
        } else if (this.readyState === Plain.OPEN) {
          this.send(JSON.stringify(["ping", String(Date.now())]));
        }
      }, BEAT_MS);
      this.addEventListener("open", () => setTimeout(() => over || sessionStorage.removeItem(LOSSES), STEADY_MS));
      this.addEventListener("message", () => { heard = Date.now(); });
      this.addEventListener("close", (event) => end(event.code, event.reason));
    }

    // The terminal tells of its size and focus as soon as it has them, which may be before it is heard.
    send(data) {
      if (this.readyState === Plain.CONNECTING) this.addEventListener("open", () => super.send(data), { once: true });
      else super.send(data);
    }
  };

  // Addresses in what models write are text, not links.
  window.open = () => null;

  async function open() {
    const size = Number(asked.get("font"));
    const terminal = element("terminal");
    terminal.dataset.sessionWebsocketUrl = new URL("ws", location.href.replace(/^http/, "ws").replace(/[?#].*$/, "")).href;
    terminal.dataset.fontSize = String(size >= 6 && size <= 72 ? size : 16);
    terminal.hidden = false;
    // Measured with another font, the cells would have the wrong size.
    await Promise.all(["", "bold ", "italic "].map((style) => document.fonts.load(style + "16px 'Roboto Mono'")));
    const script = document.createElement("script");
    script.src = "textual.js";
    script.onerror = () => later("The terminal cannot be loaded.");
    script.onload = () => {
      // textual.js begins when the page is loaded, which it is already.
      window.onload();
      // It marks the page when the console draws.
      new MutationObserver((_, observer) => {
        if (!document.body.classList.contains("-first-byte")) return;
        observer.disconnect();
        element("panel").hidden = true;
      }).observe(document.body, { attributes: true });
      terminal.querySelector("textarea").focus();
    };
    document.head.append(script);
  }

  element("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, element("key").value.trim());
    element("key").value = "";
    begin(false);
  });
  element("again").addEventListener("click", () => location.reload());
  begin(false);
})();
