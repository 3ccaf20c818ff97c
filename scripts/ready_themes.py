"""Write themes/ready.json from the themes that come with the console: a start takes them from there, and reads no YAML."""

from nodus_tui.ready_themes import READY, made_ready
from nodus_tui.theme_shelf import packaged_folder

if __name__ == "__main__":
    target = packaged_folder() / READY
    target.write_text(made_ready(packaged_folder().glob("*.yaml")), encoding="utf-8")
    print(target)
