"""AgentRuns as lines of `get`. Pure."""

from nodus_tui.contract.money import display_usd
from nodus_tui.contract.resources.agent_run import AgentRun

TITLES = ("NAME", "CASE", "TASK", "PHASE", "REASON", "VERDICT", "COST", "CAP", "SANDBOX", "TURNS", "GROUP")


def run_row(run: AgentRun) -> tuple[str, ...]:
    """The cells of one."""
    spec, status = run.spec, run.status
    cap = "-" if spec.max_cost_usd is None else display_usd(spec.max_cost_usd)
    if status is None:
        return run.name, str(spec.case), spec.task_id, "-", "-", "-", "-", cap, "-", "-", spec.group or "-"
    return (
        run.name,
        str(spec.case),
        spec.task_id,
        status.phase.value,
        status.reason.value if status.reason else "-",
        status.verdict.value if status.verdict else "-",
        display_usd(status.cost_usd),
        cap,
        display_usd(status.sandbox.cost_usd) if status.sandbox else "-",
        str(status.turns),
        spec.group or "-",
    )
