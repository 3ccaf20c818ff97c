"""What the configuration says of the columns of tables, checked against the tables that there are. Pure."""

from collections.abc import Mapping

from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.wording import quoted
from nodus_tui.view_state.views import Trait, views_with

_PATH = ("console", "columns")


def _known_columns() -> Mapping[str, tuple[str, ...]]:
    """The keys of the columns of each table whose columns are always the same."""
    # Imported here: they know all kinds, and only a configuration that names columns needs them.
    from nodus_tui.view_state.boxes import BOX_COLUMNS  # noqa: PLC0415
    from nodus_tui.view_state.budgets import BUDGET_COLUMNS  # noqa: PLC0415
    from nodus_tui.view_state.campaigns import CAMPAIGN_COLUMNS  # noqa: PLC0415
    from nodus_tui.view_state.jobs import JOB_COLUMNS  # noqa: PLC0415
    from nodus_tui.view_state.run_columns import RUN_COLUMNS  # noqa: PLC0415
    from nodus_tui.view_state.sweeps import SWEEP_COLUMNS  # noqa: PLC0415

    return {
        "campaigns": tuple(column.key for column in CAMPAIGN_COLUMNS),
        "group": tuple(column.key for column in RUN_COLUMNS),
        "jobs": tuple(column.key for column in JOB_COLUMNS),
        "budgets": tuple(column.key for column in BUDGET_COLUMNS),
        "sandboxes": tuple(column.key for column in BOX_COLUMNS),
        "sweeps": tuple(column.key for column in SWEEP_COLUMNS),
    }


def column_findings(configuration: Mapping[str, object]) -> list[Finding]:
    """Everything that is wrong with the columns in a configuration as it was written: names of views and of columns.

    What is no list of texts at all, the configuration's own model tells.
    """
    console = configuration.get("console")
    written = console.get("columns") if isinstance(console, Mapping) else None
    if not isinstance(written, Mapping):
        return []
    known = _known_columns()
    views = tuple(view.value for view in views_with(Trait.ROWS))
    found: list[Finding] = []
    for name, keys in written.items():
        if not isinstance(name, str) or name.partition("/")[0] not in views:
            near = nearest(str(name), views)
            found.append(Finding((*_PATH, str(name)), f"there is no view {quoted(str(name))} with a table", near, at_key=True))
        elif name in known and isinstance(keys, tuple):
            found += [
                Finding((*_PATH, name, place), f"the table of {name} has no column {quoted(key)}: {', '.join(known[name])}", near)
                for place, key in enumerate(keys)
                if isinstance(key, str) and key not in known[name]
                for near in (nearest(key, known[name]),)
            ]
    return found
