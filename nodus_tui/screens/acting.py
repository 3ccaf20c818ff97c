"""Kill, extend, retry, resume, copy: the questions before and the sentences after, the same from every view."""

from decimal import Decimal
from uuid import uuid4

from nodus_tui.contract.actions import Action, ExtendCap, Kill, Resume, ResumeSweep, Retry, RetryJob
from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.money import exact_usd
from nodus_tui.contract.phases import GroupPhase, RunPhase
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.screens.base import ViewScreen
from nodus_tui.screens.copying_text import copy_text
from nodus_tui.view_state.any_job import AnyJob, job_status, waits_for_budget
from nodus_tui.view_state.availability import unscored_ended
from nodus_tui.view_state.campaigns import killable, status_of
from nodus_tui.view_state.cells import Line, Span, Tone, joined, line, muted, strong
from nodus_tui.view_state.figures import short_usd
from nodus_tui.view_state.jobs import cap_of, extend_job_lines, extend_problem, kill_job_question, retry_job_question, retry_problem
from nodus_tui.view_state.notice_words import DONE, REFUSED, Happening
from nodus_tui.view_state.proposals import (
    Question,
    cap_input,
    cap_problem,
    extension_problem,
    first_ends,
    group_room,
    interrupted_waits,
    kill_group_question,
    kill_run_question,
    proposed_cap,
    raised_cap_does,
    too_low,
    typed_cap,
)
from nodus_tui.view_state.run_columns import run_status
from nodus_tui.view_state.sweeps import sweep_status
from nodus_tui.view_state.undoing import step_of
from nodus_tui.view_state.words import as_sentence
from nodus_tui.widgets.dialogs import ConfirmDialog, PromptDialog, Switch


def _stamp(screen: ViewScreen) -> dict[str, str]:
    return {"author": screen.services.author, "request_id": uuid4().hex}


async def perform(screen: ViewScreen, action: Action, *, undoes: bool = False) -> bool:
    """Do it and say what came of it, and how it is undone where it can be; what `undoes` something is no step of its own."""
    screen.notice("asked the backend…", Tone.MUTED)
    sweep = screen.services.feed.sweeps.rows.find(action.name) if isinstance(action, ResumeSweep) else None
    step = step_of(action, paused=sweep is not None and sweep_status(sweep).reason == "Paused")
    try:
        outcome = await screen.services.backend.act(action)
    except NodusError as error:
        screen.notice(f"! {error.detail}", Tone.BAD)
        return False
    if outcome.changed and not undoes:
        screen.services.history.did(step)
    undoable = outcome.changed and not undoes and step.action is not None
    told = Span(("✓ " if outcome.changed else "· ") + outcome.message, Tone.GOOD if outcome.changed else Tone.MUTED)
    screen.tell(line(told, *((muted("  "), *screen.hint("undo", " undoes it")) if undoable else ())))
    screen.show()
    return True


async def agreed(screen: ViewScreen, question: Question) -> bool:
    """Ask, and say whether it is to be done; who goes back reads that nothing was."""
    yes: bool = await screen.app.push_screen_wait(ConfirmDialog(question))
    if not yes:
        not_done(screen)
    return yes


def not_done(screen: ViewScreen) -> None:
    """Tell that a question was left without doing what it asks: a slip of a finger looks like having done it otherwise."""
    screen.notice("Nothing was done.", Tone.WARN)


async def undo(screen: ViewScreen) -> None:
    """Take back what the person did last in this view or to the workspace, or say why that cannot be; the next time the one before."""
    history = screen.services.history
    while (step := history.take(screen)) is not None:
        if step.why_not:
            screen.notice(f"{step.what[:1].upper()}{step.what[1:]} cannot be undone: {step.why_not}.", Tone.WARN)
            return
        if step.action is not None:
            await perform(screen, step.action.model_copy(update=_stamp(screen)), undoes=True)
            return
        if step.back is not None and step.back():
            screen.notice(f"Undone: {step.what}.", Tone.GOOD)
            return
    screen.notice("Nothing is left to be undone in this view.", Tone.MUTED)


def perform_later(screen: ViewScreen, action: ExtendCap, run: AgentRun, first: str) -> None:
    """Extend a run of which something comes to its end `first`: whatever view is open then, the outcome comes as a notice."""
    services, group = screen.services, run.spec.group
    services.asked.begin(action.request_id, f"the new cap of {run.name} waits for {first}")

    async def done() -> None:
        try:
            outcome = await services.backend.act(action)
        except NodusError as error:
            told = Happening(REFUSED, error.detail)
        else:
            told = Happening(DONE if outcome.changed else REFUSED, outcome.message)
            if outcome.changed:
                services.history.did(step_of(action))
        finally:
            services.asked.end(action.request_id)
        tell_outcome(screen, told, group or "")

    # Of the app, not of the view: who goes elsewhere meanwhile still wants to know.
    screen.app.run_worker(done(), exit_on_error=True)
    screen.show()


async def kill_group(screen: ViewScreen, group: AgentGroup) -> None:
    """Ask, then end a group."""
    if not killable(group):
        screen.notice(f"{group.name} has ended; there is nothing to kill.", Tone.WARN)
        return
    if await agreed(screen, kill_group_question(group)):
        await perform(screen, Kill(kind="AgentGroup", name=group.name, **_stamp(screen)))


async def kill_job(screen: ViewScreen, job: AnyJob) -> None:
    """Ask, then end a job."""
    status = job_status(job)
    if status.ended and not waits_for_budget(job):
        screen.notice(f"{job.name} has ended ({status.phase}); there is nothing to kill.", Tone.WARN)
        return
    if await agreed(screen, kill_job_question(job, screen.services.now())):
        await perform(screen, Kill(kind=job.kind, name=job.name, **_stamp(screen)))


async def retry_job(screen: ViewScreen, job: AnyJob) -> bool:
    """Ask, then begin a job's next attempt; says whether it was done."""
    problem = retry_problem(job)
    if problem:
        screen.notice(problem, Tone.WARN)
        return False
    if not await agreed(screen, retry_job_question(job, screen.services.now())):
        return False
    return await perform(screen, RetryJob(kind=job.kind, name=job.name, **_stamp(screen)))


async def extend_job(screen: ViewScreen, job: AnyJob) -> bool:
    """Ask for a higher cap, then raise the job's; says whether that begins another attempt."""
    status, cap = job_status(job), cap_of(job)
    if problem := extend_problem(job):
        screen.notice(problem, Tone.WARN)
        return False
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New cap of job {job.name}, in US dollars",
            extend_job_lines(job, screen.services.now()),
            value=cap_input(proposed_cap(cap, None)),
            problem=lambda text: cap_problem(text, cap),
        ),
    )
    if answer is None:
        return False
    done = await perform(screen, ExtendCap(kind=job.kind, name=job.name, cap_usd=typed_cap(answer[0]), **_stamp(screen)))
    return done and status.reason == "MaxCostReached"


async def kill_run(screen: ViewScreen, run: AgentRun) -> None:
    """Ask, then end a run."""
    status = run_status(run)
    if status.phase.ended:
        screen.notice(f"{run.name} has ended ({status.phase.value}); there is nothing to kill.", Tone.WARN)
        return
    if await agreed(screen, kill_run_question(run)):
        await perform(screen, Kill(kind="AgentRun", name=run.name, **_stamp(screen)))


async def extend_group(screen: ViewScreen, group: AgentGroup) -> None:
    """Ask for a higher cap, then raise the group's."""
    status = status_of(group)
    if status.phase.ended:
        screen.notice(f"{group.name} has ended ({status.phase.value}): no case is left to pay for.", Tone.WARN)
        return
    cap = status.money.cap_usd
    lines = [
        line(f"{exact_usd(cap)} is the cap; ", strong(f"{short_usd(status.money.model_usd)} is spent"), " on models."),
        *((line(muted(as_sentence(status.message))),) if status.message else ()),
        line(raised_cap_does(status, screen.key)),
    ]
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New cap of group {group.name}, in US dollars",
            lines,
            value=cap_input(proposed_cap(cap, status.needed_cap_usd)),
            problem=lambda text: cap_problem(text, cap),
            remark=lambda text: too_low(typed_cap(text), status.needed_cap_usd, "to start all its cases it", "some would wait on"),
        ),
    )
    if answer is not None:
        await perform(screen, ExtendCap(kind="AgentGroup", name=group.name, cap_usd=typed_cap(answer[0]), **_stamp(screen)))


async def extend_run(screen: ViewScreen, run: AgentRun, group: AgentGroup | None, *, successor: str = "") -> None:
    """Ask for a higher cap, then let a successor go on. What can have none is told at once."""
    cap, status = run.spec.max_cost_usd, run_status(run)
    problem = extension_problem(run, successor, screen.key)
    if problem or cap is None:
        screen.notice(problem, Tone.WARN)
        return
    spent = short_usd(status.cost_usd)
    resting = group is not None and status_of(group).phase is GroupPhase.INTERRUPTED
    first = first_ends(run)
    lines: list[Line] = [
        line(f"{exact_usd(cap)} is the cap; ", strong(f"{spent} is spent"), "."),
        *((line(muted(as_sentence(status.message))),) if status.message else ()),
        line("This run ends as superseded; a new one takes its case with the higher cap."),
        *((later_line(screen, f"First {first} ends and is paid"),) if first else ()),
        *((line(interrupted_waits(screen.key)),) if resting else ()),
    ]
    afresh = "It begins afresh; what was spent stays in the group's cost only."
    paid = f"It goes on from the paid conversation; the {spent} counts against the new cap."
    onward = paid if status.cost_usd else "It goes on from the conversation, of which nothing is paid yet."
    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"New cap of run {run.name}, in US dollars",
            lines,
            value=cap_input(proposed_cap(cap, status.needed_cap_usd)),
            problem=lambda text: cap_problem(text, cap),
            remark=lambda text: _of_new_cap(screen, run, group, typed_cap(text)),
            switch=Switch(
                off=(onward, "lets it begin afresh instead"),
                on=(afresh, "lets it go on from the conversation instead"),
                # Its next call is the first of a new conversation: nobody knows yet what that needs.
                remark=lambda text: group_room(group, run, typed_cap(text), screen.key_offered, afresh=True),
            ),
        ),
    )
    if answer is None:
        return
    text, restart = answer
    action = ExtendCap(kind="AgentRun", name=run.name, cap_usd=typed_cap(text), restart=restart, **_stamp(screen))
    if first:
        perform_later(screen, action, run, first)
    else:
        await perform(screen, action)


def _of_new_cap(screen: ViewScreen, run: AgentRun, group: AgentGroup | None, cap: Decimal) -> Line:
    """Whether a run would go on under such a cap, by its own next call and by what its group has left."""
    own = too_low(cap, run_status(run).needed_cap_usd, "its next call", "going on, it would wait again")
    return joined((own, group_room(group, run, cap, screen.key_offered)), " ")


def tell_outcome(screen: ViewScreen, outcome: Happening, group: str = "") -> None:
    """What came of something that took its time: here, where the person still is, and in any case among the notices."""
    here = screen.is_attached and screen.app.screen is screen
    if here:
        screen.tell(line(Span(f"{outcome.sign.glyph} {outcome.text}", outcome.sign.tone)))
    screen.services.feed.tell(outcome, "AgentGroup" if group else "", group, told=here)


def later_line(screen: ViewScreen, first: str) -> Line:
    """That a higher cap takes effect later, and where its outcome is told."""
    return line(Span(f"{first}; the outcome comes as a notice ({screen.key('notices')}).", Tone.WARN))


async def retry_group(screen: ViewScreen, group: AgentGroup) -> None:
    """Ask, then run all unscored cases again. An interrupted group that has none goes on: whoever asks for one word means the other."""
    count = unscored_ended(group)
    if not count and status_of(group).phase is GroupPhase.INTERRUPTED:
        await resume_group(screen, group)
        return
    if not count:
        screen.notice(f"No case of {group.name} has ended unscored; a verdict stands and is not run again.", Tone.WARN)
        return
    lines = (
        line(strong(f"{count} {'case' if count == 1 else 'cases'}"), " ended unscored and will run again under the group's cap."),
        line(muted(f"{short_usd(status_of(group).money.left_usd)} is left of it. Verdicts stand and are not run again.")),
    )
    question = Question(f"Retry {count} unscored of {group.name}?", lines, f"Retry {count}")
    if await agreed(screen, question):
        await perform(screen, Retry(group=group.name, **_stamp(screen)))


async def retry_run(screen: ViewScreen, run: AgentRun) -> None:
    """Run one unscored case again; no question, for nothing is lost by it."""
    status = run_status(run)
    if status.phase is RunPhase.INTERRUPTED and run.spec.group is not None:
        await perform(screen, Resume(group=run.spec.group, **_stamp(screen)))
    elif not status.phase.ended:
        screen.notice(f"{run.name} has not ended ({status.phase.value}); only an unscored case that ended can run again.", Tone.WARN)
    elif status.verdict is not None and status.verdict.scored:
        screen.notice(f"{run.name} is scored ({status.verdict.value}); a verdict stands.", Tone.WARN)
    elif run.spec.group is None:
        screen.notice(f"{run.name} belongs to no group; launch it again instead.", Tone.WARN)
    else:
        await perform(screen, Retry(group=run.spec.group, runs=(run.name,), **_stamp(screen)))


async def resume_group(screen: ViewScreen, group: AgentGroup) -> None:
    """Let an interrupted group go on, or the interrupted runs of one that goes on."""
    if status_of(group).phase.ended:
        screen.notice(f"{group.name} has ended ({status_of(group).phase.value}); only what is interrupted is resumed.", Tone.WARN)
        return
    await perform(screen, Resume(group=group.name, **_stamp(screen)))


def copy_row(screen: ViewScreen, texts: tuple[tuple[str, str], ...]) -> None:
    """Put a row where a person can take it from."""
    if texts:
        copy_text(screen, "\t".join(value.strip() for _, value in texts), "the row")
    else:
        screen.notice("No row is selected.", Tone.WARN)
