"""All views of the console: the one place where a view is registered. It knows names and keys only, no screen and no widget.

A new view is a member of `View` and an entry of `VIEWS`, nothing more:

- its traits give it the keys of its kind (a table's sorting, a filter, Enter, kill), and footer, `?`, palette and docs/keys.md with them;
- an entry with a `screen` is opened from everywhere by `:` and its name, by its `key`, and from the palette;
- an entry without one is opened from another view only, on what is selected there (a group, a run).

What only one view can do is an action of its own in `key_actions.py`. The screen is a `TableScreen` (screens/table_screen.py) where it is a
table of items, else a `ViewScreen` (screens/base.py). CONTRIBUTING.md has the steps in order.
"""

from enum import StrEnum

from msgspec import Struct


class View(StrEnum):
    """Where an action works. The value is the name that `:` takes."""

    CAMPAIGNS = "campaigns"
    GROUP = "group"
    RUN = "run"
    RESULTS = "results"
    COMPARISON = "comparison"
    JOBS = "jobs"
    JOB = "job"
    GPUS = "gpus"
    BUDGETS = "budgets"
    SANDBOXES = "sandboxes"
    SANDBOX = "sandbox"
    SWEEPS = "sweeps"
    SWEEP = "sweep"
    QUEUE = "queue"
    TIMELINE = "timeline"
    WHAT_IF = "what-if"
    SPECS = "specs"
    SPEC = "spec"
    ENVIRONMENTS = "environments"
    ENVIRONMENT = "environment"
    LOG = "log"
    ESTIMATE = "estimate"


class Trait(StrEnum):
    """What a view is, as far as keys go. The actions of key_actions.py name traits, so that no view stands in a list of each."""

    LIVE = "live"
    """It stays open while things go on: it can be left by `:`, has the palette, the themes and the help."""
    FIRST = "first"
    """Nothing lies below it: Escape leads nowhere."""
    ROWS = "rows"
    """It has a table whose rows are sorted and copied."""
    FILTER = "filter"
    """Its rows are filtered with `/`."""
    OPENS = "opens"
    """Enter opens what is selected."""
    ENDS = "ends"
    """`x` kills what is selected or shown."""
    PICKS = "picks"
    """Several of its rows can be picked, for one action on all of them."""


class ViewEntry(Struct, frozen=True):
    """One view, as the registry has it."""

    view: View
    title: str
    """Of its help and of its chapter in docs/keys.md."""
    traits: frozenset[Trait]
    screen: str = ""
    """`module:class` of a screen that needs nothing but the services; it is loaded when it is first opened. Empty: see above."""
    key: str = ""
    """The letter that opens it from every live view, as Textual names keys; empty for none."""
    help: str = ""
    """A sentence for help and palette: what it shows."""
    here: bool = False
    """It shows files of the machine that the console runs on: not for somebody in a browser."""
    also: tuple[str, ...] = ()
    """Other names that `:` takes."""


_TABLE = frozenset({Trait.LIVE, Trait.ROWS, Trait.FILTER})

VIEWS: tuple[ViewEntry, ...] = (
    ViewEntry(
        View.CAMPAIGNS,
        "Campaigns",
        _TABLE | {Trait.FIRST, Trait.OPENS, Trait.ENDS, Trait.PICKS},
        screen="nodus_tui.screens.campaigns:CampaignsScreen",
        help="Show all campaigns: the groups with their progress, pass rate and money.",
        also=("groups", "home"),
    ),
    ViewEntry(View.GROUP, "Group", _TABLE | {Trait.OPENS, Trait.ENDS, Trait.PICKS}),
    ViewEntry(View.RESULTS, "Results", _TABLE | {Trait.OPENS}),
    ViewEntry(View.COMPARISON, "Two groups compared", _TABLE | {Trait.OPENS}),
    ViewEntry(View.RUN, "Run", frozenset({Trait.LIVE, Trait.ENDS})),
    ViewEntry(
        View.JOBS,
        "Jobs",
        _TABLE | {Trait.OPENS, Trait.ENDS, Trait.PICKS},
        screen="nodus_tui.screens.jobs:JobsScreen",
        key="J",
        help="Show all jobs.",
    ),
    ViewEntry(View.JOB, "Job and its log", frozenset({Trait.LIVE, Trait.ENDS})),
    ViewEntry(
        View.GPUS,
        "GPUs and the machine",
        frozenset({Trait.LIVE, Trait.ROWS}),
        screen="nodus_tui.screens.gpus:GpusScreen",
        key="d",
        help="Show the GPUs, the processes on them, and the machine that does the work.",
        also=("devices", "machine", "hardware"),
    ),
    ViewEntry(
        View.BUDGETS,
        "Budgets",
        _TABLE | {Trait.OPENS},
        screen="nodus_tui.screens.budgets:BudgetsScreen",
        key="B",
        help="Show all budgets: what is spent of each, and which block.",
    ),
    ViewEntry(
        View.SANDBOXES,
        "Sandboxes",
        _TABLE | {Trait.OPENS, Trait.ENDS, Trait.PICKS},
        screen="nodus_tui.screens.boxes:SandboxesScreen",
        key="b",
        help="Show all sandboxes: your own with their costs and ends, and those of runs, graders and jobs.",
        also=("boxes",),
    ),
    ViewEntry(View.SANDBOX, "Sandbox", frozenset({Trait.LIVE, Trait.ENDS})),
    ViewEntry(
        View.SWEEPS,
        "Sweeps",
        _TABLE | {Trait.OPENS, Trait.ENDS},
        screen="nodus_tui.screens.sweeps:SweepsScreen",
        key="W",
        help="Show all sweeps: how many of their cells have ended, and what is spent of their caps.",
    ),
    ViewEntry(View.SWEEP, "Sweep and its cells", _TABLE | {Trait.OPENS, Trait.ENDS}),
    ViewEntry(
        View.QUEUE,
        "Queue",
        _TABLE | {Trait.OPENS},
        screen="nodus_tui.screens.queue:QueueScreen",
        key="w",
        help="Show who waits for what, since when and until when; from a group, that group's alone.",
        also=("waiting",),
    ),
    ViewEntry(View.TIMELINE, "Timeline of a group", _TABLE | {Trait.OPENS}),
    ViewEntry(View.WHAT_IF, "Another maxActive", frozenset({Trait.LIVE, Trait.ROWS})),
    ViewEntry(
        View.SPECS,
        "Specs",
        _TABLE | {Trait.OPENS},
        screen="nodus_tui.screens.specs:SpecsScreen",
        key="F",
        help="Show the spec files here and the examples: what is in each, whether it is valid, and whether it is applied.",
        here=True,
        also=("files", "examples"),
    ),
    ViewEntry(View.SPEC, "Editor of a spec", frozenset()),
    ViewEntry(
        View.ENVIRONMENTS,
        "Environments",
        _TABLE | {Trait.OPENS},
        screen="nodus_tui.screens.environments:EnvironmentsScreen",
        key="D",
        help="Show all environments: their tasks, their graders and how far these can be trusted, and their gold checks.",
        also=("datasets", "tasks"),
    ),
    ViewEntry(View.ENVIRONMENT, "Environment and its tasks", frozenset({Trait.LIVE})),
    ViewEntry(
        View.LOG,
        "Scheduler and its log",
        frozenset({Trait.LIVE}),
        screen="nodus_tui.screens.scheduler_log:SchedulerLogScreen",
        key="L",
        help="Show the scheduler: its process, how late its loop is, and its log as it grows.",
        also=("scheduler", "debug"),
    ),
    ViewEntry(View.ESTIMATE, "Estimate before a launch", frozenset()),
)

VIEW_TITLES = {entry.view: entry.title for entry in VIEWS}


def views_with(*traits: Trait) -> tuple[View, ...]:
    """The views that have all of these traits, in their order."""
    return tuple(entry.view for entry in VIEWS if entry.traits.issuperset(traits))


def destinations() -> tuple[ViewEntry, ...]:
    """The views that can be gone to from everywhere."""
    return tuple(entry for entry in VIEWS if entry.screen)


def destination(name: str) -> ViewEntry | None:
    """The view that can be gone to under a name; None where there is none of that name."""
    return next((entry for entry in destinations() if name in (entry.view.value, *entry.also)), None)
