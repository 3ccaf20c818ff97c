"""Write docs/keys.md from the console's list of actions."""

from pathlib import Path

from nodus_tui.view_state.key_actions import keys_markdown

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "docs" / "keys.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(keys_markdown(), encoding="utf-8")
    print(target)
