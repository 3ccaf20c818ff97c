"""What each view of the console shows, as text: the command that prints it, for pipes, screen readers and CI. NAME stands for a name."""

from nodus_tui.view_state.views import View

TEXT_EQUIVALENTS: dict[View, tuple[str, ...]] = {
    View.CAMPAIGNS: ("get groups", "watch groups"),
    View.GROUP: ("describe group/NAME", "watch group/NAME"),
    View.RUN: ("describe run/NAME", "watch run/NAME"),
    View.RESULTS: ("results NAME",),
    View.COMPARISON: ("compare NAME NAME",),
    View.JOBS: ("get jobs", "watch jobs"),
    View.JOB: ("describe job/NAME", "logs NAME --follow"),
    View.GPUS: ("gpus",),
    View.BUDGETS: ("get budgets", "describe budget/NAME", "watch budgets"),
    View.SANDBOXES: ("get sandboxes", "sandboxes list", "watch sandboxes"),
    View.SANDBOX: ("describe sandbox/NAME", "watch sandbox/NAME"),
    View.SWEEPS: ("get sweeps", "watch sweeps"),
    View.SWEEP: ("results sweep/NAME", "watch sweep/NAME"),
    View.QUEUE: ("queue",),
    View.TIMELINE: ("queue NAME --timeline",),
    View.WHAT_IF: ("queue NAME --max-active 8",),
    View.ENVIRONMENTS: ("environment list",),
    View.ENVIRONMENT: ("environment tasks NAME", "environment check NAME"),
    View.LOG: ("scheduler status", "scheduler logs"),
    View.SPECS: ("validate --file FILE", "diff --file FILE"),
    View.SPEC: ("validate --file FILE", "estimate --file FILE", "diff --file FILE"),
    View.ESTIMATE: ("estimate --file FILE",),
}
"""View → what follows `nodus-tui`; the first shows what the view shows at once, others go on or tell more."""
