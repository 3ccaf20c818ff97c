"""`validate`: every fault of some specs at once, and nothing changed."""

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import FilesCommand, files_option, output_option
from nodus_tui.cli.output import emit, json_text
from nodus_tui.cli.specs import load_files, load_files_alone, refused_sentences
from nodus_tui.contract.errors import ErrorCode, Fault, NodusError
from nodus_tui.contract.spec_loading.bundle import SpecBundle


@click.command("validate", cls=FilesCommand)
@files_option()
@click.option("--offline", is_flag=True, help="Look at the files alone: not whether agents, environments and models exist here.")
@output_option("table", "json")
def command(files: tuple[str, ...], output: str, *, offline: bool) -> int:
    """Check specs and show every fault as file:line:column: field: message. Exit 2 with any fault."""
    faults: tuple[Fault, ...] = ()
    bundle = SpecBundle(())
    refused: list[str] = []
    try:
        bundle = load_files_alone(files) if offline else load_files(files)
        if not offline:
            refused = _refused_by_backend(bundle)
    except NodusError as error:
        if error.code is not ErrorCode.INVALID_SPEC:
            raise
        faults = error.faults
    if output == "json":
        emit(json_text([fault.to_document() for fault in faults]))
    else:
        for fault in faults:
            say(fault.sentence(), prefix="")
    if faults:
        say(f"{len(faults)} fault{'s' if len(faults) != 1 else ''}")
        return Exit.USAGE
    count = len(bundle.documents)
    say(f"{count} document{'s' if count != 1 else ''}, no fault")
    for sentence in refused:
        say(sentence)
    return Exit.DONE


def _refused_by_backend(bundle: SpecBundle) -> list[str]:
    """Check it there; gives why an apply would refuse documents that are valid. Raises NodusError with every fault."""
    # Imported here: with --offline no backend is needed.
    import asyncio  # noqa: PLC0415

    from nodus_tui.cli.session import opened  # noqa: PLC0415

    async def whole() -> list[str]:
        async with opened("look") as backend:
            return refused_sentences(await backend.apply(bundle, dry_run=True))

    return asyncio.run(whole())
