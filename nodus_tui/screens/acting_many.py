"""Kill, extend, retry of everything that is picked in a table: one question in numbers, one action for each, one sentence about all."""

from collections.abc import Callable, Sequence
from uuid import uuid4

from nodus_tui.contract.actions import Action, ExtendCap, Kill, Retry, RetryJob
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.screens.acting import perform, unscored_ended
from nodus_tui.screens.base import ViewScreen
from nodus_tui.view_state import many
from nodus_tui.view_state.any_job import AnyJob, job_status
from nodus_tui.view_state.campaigns import status_of
from nodus_tui.view_state.cells import Tone, plain
from nodus_tui.view_state.jobs import cap_of, cost_now
from nodus_tui.view_state.proposals import cap_input, cap_problem, extension_problem, typed_cap
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.widgets.dialogs import ConfirmDialog, PromptDialog


def _stamp(screen: ViewScreen) -> dict[str, str]:
    return {"author": screen.services.author, "request_id": uuid4().hex}


async def _agreed(screen: ViewScreen, plan: many.Plan, verb: str) -> bool:
    """Ask; where nothing of what is picked fits, that is told instead."""
    if not plan.names:
        why = " ".join(plain(each) for each in plan.question.lines)
        screen.notice(f"Nothing of what is picked can be {verb}: {why}", Tone.WARN)
        return False
    agreed: bool = await screen.app.push_screen_wait(ConfirmDialog(plan.question))
    return agreed


async def _each(screen: ViewScreen, done: str, what: str, names: Sequence[str], action: Callable[[str], Action]) -> None:
    """One action for each; what is refused for one (it may have gone on meanwhile) does not keep the others from theirs."""
    changed, refusals = 0, []
    for place, name in enumerate(names, start=1):
        screen.notice(f"{place} of {len(names)}…", Tone.MUTED)
        try:
            outcome = await screen.services.backend.act(action(name))
        except NodusError as error:
            refusals.append(many.Refusal(name, error.detail))
            if error.code is ErrorCode.UNAVAILABLE:
                refusals.extend(many.Refusal(other, "not asked any more") for other in names[place:])
                break
        else:
            changed += outcome.changed
            if not outcome.changed:
                refusals.append(many.Refusal(name, outcome.message))
    words = many.outcome_words(done, changed, len(names), refusals, what)
    screen.notice(f"! {words}" if refusals else f"✓ {words}", Tone.BAD if refusals else Tone.GOOD)
    screen.show()


async def kill_runs(screen: ViewScreen, runs: Sequence[AgentRun]) -> None:
    """Ask, then end runs."""
    plan = many.kill_runs(runs)
    if await _agreed(screen, plan, "killed"):
        await _each(screen, "killed", "run", plan.names, lambda name: Kill(kind="AgentRun", name=name, **_stamp(screen)))


async def retry_runs(screen: ViewScreen, runs: Sequence[AgentRun], group: AgentGroup | None) -> None:
    """Ask, then run cases again that ended unscored: all of them in one action."""
    plan = many.retry_runs(runs, group)
    if group is not None and await _agreed(screen, plan, "run again"):
        await perform(screen, Retry(group=group.name, runs=plan.names, **_stamp(screen)))


async def extend_runs(screen: ViewScreen, runs: Sequence[AgentRun], group: AgentGroup | None) -> None:
    """Ask for one new cap, then let each run's successor go on under it."""
    fit = [
        many.Capped(run.name, run.kind, run.spec.max_cost_usd, run_status(run).cost_usd, run_status(run).needed_cap_usd)
        for run in runs
        if run.spec.max_cost_usd is not None and not extension_problem(run)
    ]
    left = status_of(group).money.left_usd if group is not None else None
    note = "Each run ends as superseded; a new one goes on from its paid conversation with the new cap."
    await _extend(screen, many.CapRaise("run", tuple(fit), len(runs), note, left))


async def kill_groups(screen: ViewScreen, groups: Sequence[AgentGroup]) -> None:
    """Ask, then end groups."""
    plan = many.kill_groups(groups)
    if await _agreed(screen, plan, "killed"):
        await _each(screen, "killed", "group", plan.names, lambda name: Kill(kind="AgentGroup", name=name, **_stamp(screen)))


async def retry_groups(screen: ViewScreen, groups: Sequence[AgentGroup]) -> None:
    """Ask, then run all unscored cases of groups again."""
    plan = many.retry_groups(groups, [unscored_ended(group) for group in groups])
    if await _agreed(screen, plan, "run again"):
        await _each(screen, "retried", "group", plan.names, lambda name: Retry(group=name, **_stamp(screen)))


async def extend_groups(screen: ViewScreen, groups: Sequence[AgentGroup]) -> None:
    """Ask for one new cap, then raise those of groups that are below it."""
    fit = [
        many.Capped(group.name, group.kind, status.money.cap_usd, status.money.model_usd, status.needed_cap_usd)
        for group in groups
        for status in (status_of(group),)
        if not status.phase.ended
    ]
    note = "Each is raised in place; what waits for funds goes on at once."
    await _extend(screen, many.CapRaise("group", tuple(fit), len(groups), note))


async def kill_jobs(screen: ViewScreen, jobs: Sequence[AnyJob]) -> None:
    """Ask, then end jobs."""
    plan, kinds = many.kill_jobs(jobs, screen.services.now()), {job.name: job.kind for job in jobs}
    if await _agreed(screen, plan, "killed"):
        await _each(screen, "killed", "job", plan.names, lambda name: Kill(kind=kinds[name], name=name, **_stamp(screen)))


async def retry_jobs(screen: ViewScreen, jobs: Sequence[AnyJob]) -> None:
    """Ask, then begin the next attempts of jobs."""
    plan, kinds = many.retry_jobs(jobs, screen.services.now()), {job.name: job.kind for job in jobs}
    if await _agreed(screen, plan, "tried again"):
        await _each(screen, "began", "next attempt", plan.names, lambda name: RetryJob(kind=kinds[name], name=name, **_stamp(screen)))


async def extend_jobs(screen: ViewScreen, jobs: Sequence[AnyJob]) -> None:
    """Ask for one new cap, then raise those of jobs that are below it."""
    now = screen.services.now()
    fit = [
        many.Capped(job.name, job.kind, cap_of(job), cost_now(job, now))
        for job in jobs
        if job_status(job).phase != "Succeeded" or job_status(job).reason is not None
    ]
    note = "Each is raised in place; one that its cap has ended goes on at once with its next attempt."
    await _extend(screen, many.CapRaise("job", tuple(fit), len(jobs), note))


async def kill_boxes(screen: ViewScreen, boxes: Sequence[Sandbox]) -> None:
    """Ask, then stop sandboxes."""
    plan = many.kill_boxes(boxes, screen.services.now())
    if await _agreed(screen, plan, "killed"):
        await _each(screen, "killed", "sandbox", plan.names, lambda name: Kill(kind="Sandbox", name=name, **_stamp(screen)))


async def _extend(screen: ViewScreen, raised: many.CapRaise) -> None:
    if not raised.fit:
        screen.notice("Nothing of what is picked can have a higher cap: it has ended, or has none.", Tone.WARN)
        return
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New cap of {many.counted(len(raised.fit), raised.what)}, in US dollars",
            raised.lines(),
            value=cap_input(raised.proposal),
            problem=lambda text: cap_problem(text, raised.least_cap),
            remark=lambda text: raised.remark(typed_cap(text)),
        ),
    )
    if answer is None:
        return
    cap = typed_cap(answer[0])
    question, kinds = raised.question(cap), {each.name: each.kind for each in raised.fit}
    if question.typed and not await screen.app.push_screen_wait(ConfirmDialog(question)):
        return
    names = [each.name for each in raised.below(cap)]
    await _each(
        screen,
        "extended",
        raised.what,
        names,
        lambda name: ExtendCap.model_validate({"kind": kinds[name], "name": name, "cap_usd": cap, **_stamp(screen)}),
    )
