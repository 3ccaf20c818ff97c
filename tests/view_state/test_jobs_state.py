from datetime import timedelta
from decimal import Decimal

from console_records import NOW
from job_records import changed, job, kept, server

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.jobs import JOB_COLUMNS, JobsState, cost_now, job_facts, job_status, kill_job_question
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


def test_every_column_shows_and_sorts_every_kind_of_job() -> None:
    jobs = [job("a"), job("b", phase="Pending"), job("c", phase="Succeeded", exit_code=0), job("d", phase="Interrupted")]
    jobs.append(server())
    for column in JOB_COLUMNS:
        rows = Rows(JOB_COLUMNS, sort=column.key)
        for each in jobs:
            rows.put(each.name, each)
            column.fitted(each, NOW, column.width)
        assert len(rows) == 5
