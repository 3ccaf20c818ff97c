"""A folder in somebody's home with a few spec files in it, and two examples elsewhere: pictures of them are the same on every machine."""

from pathlib import Path

from msgspec import Struct
from test_console_journeys import SPEC

from nodus_tui.authoring.templates import TEMPLATES


class SpecWorkspace(Struct, frozen=True):
    """Where these are; the console is started in `folder`."""

    home: Path
    folder: Path
    examples: Path


def spec_workspace(home: Path) -> SpecWorkspace:
    """Make them below a folder that is empty."""
    made = SpecWorkspace(home, home / "evaluations", home / "shipped" / "examples")
    texts = {
        made.folder / "hello-simulated.yaml": SPEC.read_text(encoding="utf-8"),
        made.folder / "broken.yaml": TEMPLATES["AgentGroup"].replace("tasks: 20", "tasks: many").replace("  agent: my-agent\n", ""),
        made.folder / "budgets" / "month.yaml": TEMPLATES["Budget"],
        made.folder / "nightly" / "agents.yaml": f"{TEMPLATES['Agent']}---\n{TEMPLATES['AgentGroup']}",
        made.examples / "jobs" / "hello.yaml": TEMPLATES["Job"],
        made.examples / "sandbox.yaml": TEMPLATES["Sandbox"],
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (made.folder / "latin.yaml").write_bytes(TEMPLATES["Agent"].encode() + b"# \xe9\n")
    return made
