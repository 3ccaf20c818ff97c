from datetime import timedelta
from decimal import Decimal

from console_records import NOW
from job_records import changed, job, kept, pass_rate, score, server, training_job

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.view_state.any_job import job_status
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.jobs import (
    JOB_COLUMNS,
    JobsState,
    cost_now,
    extend_job_lines,
    job_facts,
    kill_job_question,
    retry_job_question,
    retry_problem,
)
from nodus_tui.view_state.rows import Rows


def loaded(*jobs) -> JobsState:  # type: ignore[no-untyped-def]
    state = JobsState()
    state.load(Snapshot(cursor=10, jobs=jobs))
    return state


def test_the_cost_of_a_running_job_grows_at_its_rate_up_to_its_cap_and_that_of_an_ended_one_stands() -> None:
    running = job()
    assert abs(cost_now(running, NOW) - Decimal("0.125") / 6) < Decimal("0.000000001")
    assert cost_now(running, NOW + timedelta(minutes=1)) > cost_now(running, NOW)
    assert cost_now(running, NOW + timedelta(days=30)) == Decimal("0.50")
    again = job(attempt=2, earlier_usd=Decimal("0.10"))
    assert cost_now(again, NOW) == Decimal("0.10") + cost_now(running, NOW)
    assert cost_now(job(phase="Succeeded"), NOW + timedelta(days=1)) == Decimal("0.0125")
    assert cost_now(job(phase="Pending"), NOW) == 0


def test_events_change_jobs_bring_new_ones_and_take_deleted_ones_away() -> None:
    state = loaded(job())
    assert state.going() == ("swe-bench",)
    assert "1 job going" in plain(state.words())
    assert not state.fold(changed("swe-bench", 10, phase="Failed"))
    assert state.fold(changed("swe-bench", 11, phase="Failed", reason="Timeout", endedAt="2026-05-01T12:00:00Z"))
    found = state.rows.item("swe-bench")
    assert (job_status(found).phase, job_status(found).reason) == ("Failed", "Timeout")
    assert not state.going()
    assert state.words() == ()
    new = job("other").to_document()
    event = Event(cursor=12, at=NOW, change="Created", kind="Job", name="other", metadata={"name": "other"}, spec=new["spec"])  # type: ignore[arg-type]
    assert state.fold(event.model_copy(update={"status": new["status"]}))
    assert state.rows.total == 2
    assert state.fold(Event(cursor=13, at=NOW, change="Deleted", kind="Job", name="other"))
    assert state.rows.total == 1


def test_the_filter_looks_at_names_phases_reasons_and_commands() -> None:
    state = loaded(job("a", phase="Failed", reason="Timeout"), job("b", command=("python", "train.py")))
    for words, names in (("state:timeout", ["a"]), ("train", ["b"]), ("!state:failed", ["b"]), ("cost>0.01", ["a"])):
        state.filter(parse_filter(words))
        assert [state.rows.key_at(place) for place in range(len(state.rows))] == names, words


def test_the_facts_tell_why_how_long_how_much_and_what_was_kept() -> None:
    ended = job(phase="Failed", reason="MaxCostReached", message="it was ended", outputs=(kept("a"), kept("b")), notes=("weaker",))
    text = "\n".join(plain(each) for each in job_facts(ended, NOW, 80))
    for words in ("MaxCostReached: it was ended", "$0.013 of $0.50", "took 6m00s", "run 'it all'", "2 outputs kept", "~ weaker"):
        assert words in text, (words, text)
    assert "ends by" in "\n".join(plain(each) for each in job_facts(job(), NOW, 80))


def test_a_server_tells_its_address_whether_it_answers_who_uses_it_and_until_when_it_stays() -> None:
    text = "\n".join(plain(each) for each in job_facts(server(), NOW, 160))
    for words in ("serves qwen as Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1", "answers since", "used by hello, second", "started again 1×"):
        assert words in text, (words, text)
    idle = "\n".join(plain(each) for each in job_facts(server(users=(), answering=False), NOW, 160))
    assert "~ NotAnswering" in idle
    assert "does not answer since" in idle
    assert "unless it is used" in idle
    assert "used by" not in idle


def test_the_question_before_a_kill_names_who_would_wait() -> None:
    lines = [plain(each) for each in kill_job_question(server(), NOW).lines]
    assert lines[0] == "hello, second use it: runs wait then, and calls in flight are lost."
    assert "SIGTERM" in plain(kill_job_question(server(users=()), NOW).lines[0])
    stopped = job(phase="Cancelled", reason="BudgetExceeded")
    assert plain(kill_job_question(stopped, NOW).lines[0]).startswith("A budget stopped it, and it would go on")


def test_every_column_shows_and_sorts_every_kind_of_job() -> None:
    jobs = [job("a"), job("b", phase="Pending"), job("c", phase="Succeeded", exit_code=0), job("d", phase="Interrupted")]
    jobs.append(server())
    for column in JOB_COLUMNS:
        rows = Rows(JOB_COLUMNS, sort=column.key)
        for each in jobs:
            rows.put(each.name, each)
            column.fitted(each, NOW, column.width)
        assert len(rows) == 5


def test_training_jobs_stand_among_the_jobs_with_how_far_they_are_and_what_they_scored() -> None:
    running = training_job(phase="Running", progress=0.45, message="scoring")
    done = training_job("done", phase="Succeeded", progress=1.0, scores=(score(), score("sums", "exact_match", 0, 0)))
    state = JobsState()
    state.load(Snapshot(cursor=10, jobs=(job(),), training_jobs=(running, done)))
    cells = {column.key: column for column in JOB_COLUMNS}
    assert state.rows.total == 3
    assert [plain(cells["kind"].cell(each, NOW)) for each in (job(), running)] == ["job", "eval"]
    assert "█" in plain(cells["done"].cell(running, NOW))
    assert plain(cells["done"].cell(done, NOW)) == "100%"
    assert plain(cells["what"].cell(running, NOW)) == "scoring"
    assert plain(cells["what"].cell(done, NOW)) == "arc_easy acc 0.375 (SE 0.183), sums exact_match 0 (SE 0)"
    facts = "\n".join(plain(each) for each in job_facts(running, NOW, 100))
    for words in ("45% done", "scores arc_easy, sums on hf://somebody/smol@1a2b3c", "2 × L4 or RTX-4090, 4 CPU, 8 GiB"):
        assert words in facts, (words, facts)
    facts = "\n".join(plain(each) for each in job_facts(done, NOW, 100))
    assert "arc_easy acc 0.375 (SE 0.183)  8 samples" in facts
    assert state.fold(Event(cursor=11, at=NOW, change="Changed", kind="TrainingJob", name="smol", status={"progress": 0.5}))
    assert job_status(state.rows.item("smol")).progress == 0.5
    state.filter(parse_filter("somebody/smol"))
    assert len(state.rows) == 2


def test_an_environments_pass_rate_never_stands_without_its_error_and_coverage_and_many_scores_are_counted() -> None:
    held = training_job(phase="Succeeded", environment="nodus/arithmetic-v2@2.0.0", scores=pass_rate())
    facts = "\n".join(plain(each) for each in job_facts(held, NOW, 100))
    assert "62.0% ± 9.5 (SE 4.9), 97/100 scored" in facts
    assert "mean reward 0.64" in facts
    many = training_job(phase="Succeeded", scores=tuple(score(f"mmlu_{place}") for place in range(57)))
    facts = "\n".join(plain(each) for each in job_facts(many, NOW, 100))
    assert "and 52 more: nodus-tui results tj/smol" in facts


def test_what_can_be_tried_again_and_what_a_higher_cap_does() -> None:
    assert "has not ended" in retry_problem(job())
    assert "has succeeded" in retry_problem(job(phase="Succeeded"))
    capped = job(phase="Failed", reason="MaxCostReached", cap_usd=Decimal("0.75"), attempt=2)
    assert retry_problem(capped) == ""
    assert "attempt 3" in "".join(plain(each) for each in retry_job_question(capped, NOW).lines)
    said = "\n".join(plain(each) for each in extend_job_lines(capped, NOW))
    assert "$0.75 is the cap" in said
    assert "goes on at once" in said
    assert "its end moves" in "".join(plain(each) for each in extend_job_lines(job(), NOW))
