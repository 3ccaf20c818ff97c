"""`diff`: what applying some specs would change, line by line."""

import click
from pydantic import JsonValue

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.options import FilesCommand, files_option, output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.session import with_backend
from nodus_tui.cli.specs import load_files, only_asking
from nodus_tui.contract.backend import Backend


@click.command("diff", cls=FilesCommand)
@files_option()
@output_option("table", "json")
def command(files: tuple[str, ...], output: str) -> int:
    """Compare specs with what is applied, as `diff -u` does. Exit 1 where anything differs.

    Both sides are written in one way: comments, the order of fields and quotes are no difference.
    """
    with only_asking():
        bundle = load_files(files)

    async def ask(backend: Backend) -> int:
        # Imported here: what tones lines for the console is not needed before.
        from nodus_tui.authoring.differences import differences  # noqa: PLC0415

        found = await differences(backend, bundle)
        if output == "json":
            listed: list[JsonValue] = [{"kind": each.kind, "name": each.name, "new": each.new, "diff": list(each.lines)} for each in found]
            emit(json_text(listed))
        else:
            for text in (line for each in found for line in each.lines):
                emit(text)
        return Exit.GATE if any(each.lines for each in found) else Exit.DONE

    return with_backend("look", ask)
