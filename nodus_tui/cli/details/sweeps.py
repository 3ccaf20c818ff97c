"""A sweep in detail. Pure."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.cli.sweep_texts import sweep_row
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.view_state.words import phase_words


def pairs(sweep: Sweep) -> list[tuple[str, str]]:
    """What is to be known of it."""
    spec, status = sweep.spec, sweep.status
    pairs = [
        ("Template", spec.template.kind),
        ("Axes", sweep_row(sweep)[-1]),
        ("Cells", f"{spec.cells}, each with a cap of {display_usd(spec.template.spec.max_cost_usd)}"),
        ("At once", str(spec.max_parallel)),
    ]
    if status is None:
        return pairs
    mark = " (simulated)" if status.simulated else " (notional price: nobody pays it)" if status.notional_price else ""
    kept = ((status.spent_usd, "spent by cells at rest"), (status.reserved_usd, "reserved"), (status.left_usd, "left"))
    parts = ", ".join(f"{display_usd(amount)} {what}" for amount, what in kept)
    return [
        *pairs,
        ("Phase", phase_words(status.phase, status.reason, status.message)),
        ("Progress", f"{status.ended}/{status.cells} ended, {status.going} going, {status.stalled} stalled, {status.failed} to retry"),
        ("Money", f"{display_usd(status.cost_usd)} of {display_usd(status.cap_usd)}{mark}; {parts}"),
        ("Created", time_text(status.created_at)),
        ("Started", time_text(status.started_at)),
        ("Ended", time_text(status.ended_at)),
    ]
