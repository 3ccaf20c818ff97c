"""What several tables of the command line have in their cells. Pure."""

from datetime import datetime

from nodus_tui.view_state.figures import exact_span_text


def time_text(moment: datetime | None) -> str:
    """UTC to the second; a hyphen where there is none."""
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}Z"


def seconds_text(seconds: float | None) -> str:
    """A span of time as the console has it, in at most six characters; a hyphen for none."""
    return "-" if seconds is None else exact_span_text(seconds)
