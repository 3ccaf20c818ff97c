"""Kill, extend, retry of everything that is picked in a table: one question in numbers, one action for each, one sentence about all."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from uuid import uuid4

from msgspec import Struct, field

from nodus_tui.contract.actions import Action, Delete, ExtendCap, Kill, Retry, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.money import cap_text
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.screens.acting import agreed, later_line, not_done, perform, tell_outcome
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state import many
from nodus_tui.view_state.any_job import AnyJob
from nodus_tui.view_state.availability import unscored_ended
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cap_raise import Capped, CapRaise, runs_cap
from nodus_tui.view_state.cells import Tone, plain
from nodus_tui.view_state.deleting import Deletable, at_rest, deletion, word_of
from nodus_tui.view_state.jobs import cap_of, cost_now, extend_problem
from nodus_tui.view_state.notice_words import DONE, REFUSED, Happening
from nodus_tui.view_state.proposals import cap_input, cap_problem, first_ends, typed_cap
from nodus_tui.view_state.undoing import step_of_many
from nodus_tui.widgets.dialogs import PromptDialog

_AT_ONCE = 100
"""Actions that are asked for side by side: each may wait for a call in flight, and none should wait for another's."""

_SHOW_SECONDS = 0.2
"""How often it is shown how far they have come."""


def _stamp(screen: ViewScreen) -> dict[str, str]:
    return {"author": screen.services.author, "request_id": uuid4().hex}


async def _agreed(screen: ViewScreen, plan: many.Plan, verb: str) -> bool:
    """Ask; where nothing of what is picked fits, that is told instead."""
    if not plan.names:
        why = " ".join(plain(each) for each in plan.question.lines)
        screen.notice(f"Nothing of what is picked can be {verb}: {why}", Tone.WARN)
        return False
    return await agreed(screen, plan.question)


class _Series(Struct, frozen=True):
    """One action on several."""

    done: str
    """In the past tense."""
    what: str
    """What one of them is called."""
    names: Sequence[str]
    action: Callable[[str], Action]
    how: str = ""
    """What stands behind their number, such as `to $0.12`."""
    first: Mapping[str, str] = field(default_factory=dict)
    """What of some of them comes to its end before, by their names."""


def _each(screen: ViewScreen, series: _Series) -> None:
    """One action for each, and one sentence about all. All of them are done whatever view is open meanwhile."""
    if series.names:
        # Of the app, not of the view: whoever goes elsewhere meanwhile asked for all of them.
        screen.app.run_worker(_work(screen, series), exit_on_error=True)


class _Course:
    """How far a series has come, told in the status line."""

    def __init__(self, screen: ViewScreen, series: _Series) -> None:
        self._screen = screen
        self._series = series
        self._key = uuid4().hex
        self._open = dict.fromkeys(series.names)
        self._unsent = len(series.names)
        self._shown = float("-inf")
        self.cut = False
        """Whether nothing more is to be asked, for nobody answers."""

    def tell(self) -> None:
        """Show how many are answered, and what is waited for."""
        count = len(self._series.names)
        slow = next((name for name in self._open if name in self._series.first), "")
        waits = f": {slow} waits for {self._series.first[slow]}" if slow else ""
        asked = self._screen.services.asked
        asked.begin(self._key, f"{count - len(self._open)} of {count}{waits}", unsent=self._unsent)
        now = asyncio.get_running_loop().time()
        if self._screen.is_attached and now >= self._shown + _SHOW_SECONDS:
            self._shown = now
            self._screen.show()

    def sent(self) -> None:
        """One more is asked: whoever leaves now has asked for it."""
        self._unsent -= 1
        self.tell()

    def answered(self, name: str) -> None:
        """One has its answer."""
        del self._open[name]
        self.tell()

    def end(self) -> None:
        """All have."""
        self._screen.services.asked.end(self._key)


async def _work(screen: ViewScreen, series: _Series) -> None:
    course = _Course(screen, series)
    course.tell()
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> Action | many.Refusal:
        async with room:
            if course.cut:
                return many.Refusal(name, "not asked any more")
            course.sent()
            action = series.action(name)
            try:
                outcome = await screen.services.backend.act(action)
            except NodusError as error:
                # It may have gone on meanwhile: that does not keep the others from theirs.
                course.cut = course.cut or error.code is ErrorCode.UNAVAILABLE
                return many.Refusal(name, error.detail)
            finally:
                course.answered(name)
            if not outcome.changed:
                return many.Refusal(name, outcome.message)
            screen.let_go(name)
            return action

    try:
        answers = await asyncio.gather(*(one(name) for name in series.names))
    finally:
        course.end()
    taken = [answer for answer in answers if not isinstance(answer, many.Refusal)]
    refusals = [answer for answer in answers if isinstance(answer, many.Refusal)]
    if taken:
        screen.services.history.did(step_of_many(taken, many.counted(len(taken), series.what)))
    words = many.outcome_words(series.done, len(taken), len(series.names), refusals, series.what, series.how)
    tell_outcome(screen, Happening(REFUSED if refusals else DONE, words))


async def kill_runs(screen: ViewScreen, runs: Sequence[AgentRun]) -> None:
    """Ask, then end runs."""
    plan = many.kill_runs(runs)
    if await _agreed(screen, plan, "killed"):
        _each(screen, _Series("killed", "run", plan.names, lambda name: Kill(kind="AgentRun", name=name, **_stamp(screen))))


async def retry_runs(screen: ViewScreen, runs: Sequence[AgentRun], group: AgentGroup | None) -> None:
    """Ask, then run cases again that ended unscored: all of them in one action."""
    plan = many.retry_runs(runs, group)
    if group is None or not await _agreed(screen, plan, "run again"):
        return
    if await perform(screen, Retry(group=group.name, runs=plan.names, **_stamp(screen))):
        screen.let_go(*plan.names)


async def extend_runs(screen: ViewScreen, runs: Sequence[AgentRun], group: AgentGroup | None) -> None:
    """Ask for one new cap, then let each run's successor go on under it."""
    await _extend(screen, runs_cap(runs, group, screen.key_offered), {run.name: ends for run in runs if (ends := first_ends(run))})


async def extend_waiting(screen: ViewScreen, group: AgentGroup, runs: tuple[AgentRun, ...]) -> None:
    """The same for every run of the group that waits at its own cap."""
    if runs:
        await extend_runs(screen, runs, group)
    else:
        screen.notice(f"No run of {group.name} waits at its own cap.", Tone.WARN)


async def kill_groups(screen: ViewScreen, groups: Sequence[AgentGroup]) -> None:
    """Ask, then end groups."""
    plan = many.kill_groups(groups)
    if await _agreed(screen, plan, "killed"):
        _each(screen, _Series("killed", "group", plan.names, lambda name: Kill(kind="AgentGroup", name=name, **_stamp(screen))))


async def retry_groups(screen: ViewScreen, groups: Sequence[AgentGroup]) -> None:
    """Ask, then run all unscored cases of groups again."""
    plan = many.retry_groups(groups, [unscored_ended(group) for group in groups])
    if await _agreed(screen, plan, "run again"):
        _each(screen, _Series("retried", "group", plan.names, lambda name: Retry(group=name, **_stamp(screen))))


async def extend_groups(screen: ViewScreen, groups: Sequence[AgentGroup]) -> None:
    """Ask for one new cap, then raise those of groups that are below it."""
    fit = [
        Capped(group.name, group.kind, status.money.cap_usd, status.money.model_usd, status.needed_cap_usd)
        for group in groups
        for status in (status_of(group),)
        if not status.phase.ended
    ]
    note = "Each is raised in place; what waits for funds goes on at once."
    await _extend(screen, CapRaise("group", tuple(fit), len(groups), note))


async def kill_jobs(screen: ViewScreen, jobs: Sequence[AnyJob]) -> None:
    """Ask, then end jobs."""
    plan, kinds = many.kill_jobs(jobs, screen.services.now()), {job.name: job.kind for job in jobs}
    if await _agreed(screen, plan, "killed"):
        _each(screen, _Series("killed", "job", plan.names, lambda name: Kill(kind=kinds[name], name=name, **_stamp(screen))))


async def retry_jobs(screen: ViewScreen, jobs: Sequence[AnyJob]) -> None:
    """Ask, then begin the next attempts of jobs."""
    plan, kinds = many.retry_jobs(jobs, screen.services.now()), {job.name: job.kind for job in jobs}
    if await _agreed(screen, plan, "tried again"):
        _each(screen, _Series("began", "next attempt", plan.names, lambda name: RetryJob(kind=kinds[name], name=name, **_stamp(screen))))


async def extend_jobs(screen: ViewScreen, jobs: Sequence[AnyJob]) -> None:
    """Ask for one new cap, then raise those of jobs that are below it."""
    now = screen.services.now()
    fit = [Capped(job.name, job.kind, cap_of(job), cost_now(job, now)) for job in jobs if not extend_problem(job)]
    note = "Each is raised in place; one that its cap has ended goes on at once with its next attempt."
    await _extend(screen, CapRaise("job", tuple(fit), len(jobs), note))


async def kill_boxes(screen: ViewScreen, boxes: Sequence[Sandbox]) -> None:
    """Ask, then stop sandboxes."""
    plan = many.kill_boxes(boxes, screen.services.now())
    if await _agreed(screen, plan, "killed"):
        _each(screen, _Series("killed", "sandbox", plan.names, lambda name: Kill(kind="Sandbox", name=name, **_stamp(screen))))


async def _extend(screen: ViewScreen, raised: CapRaise, first: Mapping[str, str] | None = None) -> None:
    if not raised.fit:
        screen.notice("Nothing of what is picked can have a higher cap: it has ended, or has none.", Tone.WARN)
        return
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            raised.title,
            (*raised.lines(), *((later_line(screen, f"Of {len(first)} the step under way ends first and is paid"),) if first else ())),
            value=cap_input(raised.proposal),
            problem=lambda text: cap_problem(text, raised.least_cap),
            remark=lambda text: raised.remark(typed_cap(text)),
        ),
    )
    if answer is None:
        not_done(screen)
        return
    cap = typed_cap(answer[0])
    question, kinds = raised.question(cap), {each.name: each.kind for each in raised.fit}
    if question.typed and not await agreed(screen, question):
        return
    names = [each.name for each in raised.below(cap)]
    _each(
        screen,
        _Series(
            "extended",
            raised.what,
            names,
            lambda name: ExtendCap.model_validate({"kind": kinds[name], "name": name, "cap_usd": cap, **_stamp(screen)}),
            f"to {cap_text(cap)}",
            first or {},
        ),
    )


async def delete(screen: ViewScreen, items: Sequence[Deletable]) -> None:
    """Ask, then delete what has ended of one kind of thing, at least one; what is at work stays."""
    kinds = {item.name: item.kind for item in items}
    if len(items) == 1 and not at_rest(items[0]):
        screen.notice(f"{items[0].name} is at work: kill it first, then it can be deleted.", Tone.WARN)
        return
    plan = deletion(items)
    if not await _agreed(screen, plan, "deleted"):
        return
    if len(plan.names) == 1:
        await perform(screen, Delete(kind=kinds[plan.names[0]], name=plan.names[0], **_stamp(screen)))
        return
    what = word_of(items[0])
    _each(screen, _Series("deleted", what, plan.names, lambda name: Delete(kind=kinds[name], name=name, **_stamp(screen))))
