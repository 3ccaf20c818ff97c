"""A stand-in for a model server, as a command of its own: the physical edge (a GPU with a model) and nothing else is made up.

usage: stand_in_server.py FOLDER [HOST]. It listens on PORT, writes down each start and each request in the folder, and does what files
there say: `unwell` answers the health check 503, `silent` never answers it, `hold` keeps replies back, `die` kills it in a call and
`die-later` in one that carries results of tools. An agent with tools writes its number to a file first, and answers what it reads there.
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])
DYING = threading.Lock()


def there(name: str) -> bool:
    return (FOLDER / name).exists()


def note(file: str, words: str) -> None:
    with (FOLDER / file).open("a") as log:
        log.write(words + "\n")


class Handler(BaseHTTPRequestHandler):
    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        while there("silent"):
            time.sleep(0.02)
        if self.path != "/health" or there("unwell"):
            self.answer(503 if self.path == "/health" else 404, {})
        else:
            self.answer(200, {"status": "ok"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = str(asked["messages"][-1]["content"])
        note("calls", f"{asked['model']} {self.headers.get('authorization', '-')} {said}")
        while there("hold"):
            time.sleep(0.02)
        with DYING:  # No other call is answered meanwhile.
            if there("die"):
                (FOLDER / "die").unlink(missing_ok=True)
                os.kill(os.getpid(), signal.SIGKILL)
        results = [str(each["content"]) for each in asked["messages"] if each["role"] == "tool"]
        if results and there("die-later"):
            (FOLDER / "die-later").unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        message: dict[str, object] = {"role": "assistant", "content": said.rsplit(" ", 1)[-1]}
        if asked.get("tools") and len(results) < 2:
            command = "cat kept.txt" if results else f"echo {said.rsplit(' ', 1)[-1]} > kept.txt; echo wrote"
            call = {"name": "bash", "arguments": json.dumps({"command": command})}
            message |= {"content": "", "tool_calls": [{"id": f"call-{len(results)}", "type": "function", "function": call}]}
        elif results:
            message["content"] = results[-1].splitlines()[-2]
        usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        self.answer(200, {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage})

    def log_message(self, *args: object) -> None:
        pass


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
signal.alarm(180)  # A test that failed leaves none behind for long.
note("starts", str(os.getpid()))
print("serving", flush=True)
while there("never"):
    time.sleep(0.02)
ThreadingHTTPServer((sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
