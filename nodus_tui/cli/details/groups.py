"""A group in detail. Pure."""

from nodus_tui.cli.cell_texts import time_text
from nodus_tui.cli.rows.groups import rate_words
from nodus_tui.contract.durations import duration_text
from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.view_state.words import phase_words


def pairs(group: AgentGroup) -> list[tuple[str, str]]:
    """What is to be known of it."""
    spec, status = group.spec, group.status
    pairs = [("Agent", spec.agent), ("Max active", str(spec.max_active))]
    if spec.evaluation is not None:
        evaluation = spec.evaluation
        pairs += [
            ("Environment", f"{evaluation.environment}, split {evaluation.split}, seed {evaluation.seed}"),
            ("Cases", f"{evaluation.tasks} tasks × {evaluation.repetitions} = {evaluation.cases}"),
            ("Timeout", duration_text(evaluation.timeout)),
        ]
    if status is None:
        return pairs
    money = status.money
    parts = ((money.spent_usd, "spent by ended runs"), (money.reserved_usd, "reserved"), (money.left_usd, "left"))
    kept = ", ".join(f"{display_usd(amount)} {what}" for amount, what in parts)
    mark = " (simulated)" if status.simulated else " (notional price: nobody pays it)" if status.notional_price else ""
    return [
        *pairs,
        ("Revision", str(status.agent_revision)),
        ("Model", f"{status.model_family}: {status.model_name}" + mark),
        ("Price from", status.price_source),
        ("Phase", phase_words(status.phase, status.reason, status.message)),
        ("Progress", f"{status.coverage.total - status.pending}/{status.coverage.total} ended, {status.going} going"),
        ("Pass rate", rate_words(group)),
        ("Weaker grader", status.weaker_grader),
        ("Verdicts", ", ".join(f"{count} {verdict}" for verdict, count in status.verdicts.items())),
        ("Money", f"{display_usd(money.model_usd)} of {display_usd(money.cap_usd)} on models; {kept}"),
        ("Sandboxes", f"{display_usd(money.sandbox_usd)}, apart from model spend and its cap" if money.sandbox_usd else ""),
        ("Unconfirmed", display_usd(money.unconfirmed_usd) if money.unconfirmed_usd else ""),
        ("Created", time_text(status.created_at)),
        ("Started", time_text(status.started_at)),
        ("Ended", time_text(status.ended_at)),
        ("Deadline", time_text(status.deadline_at)),
        ("Digest", status.environment_digest),
    ]
