"""The console's part of the configuration file, its keys checked too. It reads that file, and knows no screen."""

from collections.abc import Mapping
from pathlib import Path

from nodus_tui.contract.console_configuration import ConsoleSettings
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.regular_files import read_regular
from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.view_state.keymap import keymap_findings
from nodus_tui.view_state.table_columns import column_findings


def console_settings(config: Path | None) -> ConsoleSettings:
    """The console's settings; the defaults without a file. Raises NodusError with every fault where the file is not fit to use."""
    if config is None:
        return ConsoleSettings()
    try:
        text = read_regular(config)
    except OSError as error:
        raise NodusError(ErrorCode.CONFIGURATION, f"the configuration file {config} cannot be read: {error.strerror or error}") from error
    from nodus_tui.contract.spec_loading.loader import load_configuration  # noqa: PLC0415 - reads YAML, where there is any

    return load_configuration(str(config), text, also=console_findings).console


def console_findings(configuration: Mapping[str, object]) -> list[Finding]:
    """Everything that is wrong with the console's part of a configuration as it was written, beyond what its own model tells."""
    return [*keymap_findings(configuration), *column_findings(configuration)]
