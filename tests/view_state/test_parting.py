"""Whose work the console shows: of another machine it names which."""

from nodus_tui.contract.backend_info import BackendInfo
from nodus_tui.view_state.parting import whose_work


def info(*, here: bool = False, elsewhere: bool = False) -> BackendInfo:
    return BackendInfo(name="local", version="0", workspace="/w", scheduling=here, scheduler_elsewhere=elsewhere)


def test_on_this_machine_it_is_said_whether_it_ends_with_the_window() -> None:
    assert whose_work(None, linked=True) == ""
    assert whose_work(info(here=True), linked=False) == "this window does the work"
    assert whose_work(info(elsewhere=True), linked=True) == "work goes on without this window"
    assert whose_work(info(elsewhere=True), linked=False) == "another process does the work"
    assert whose_work(info(), linked=True) == "nobody does the work"


def test_of_another_machine_it_is_said_which_without_a_login() -> None:
    told = whose_work(info(elsewhere=True), linked=True, url="https://ann:secret@evals.example:8800")
    assert told == "work goes on at evals.example:8800 without this window"
    assert whose_work(info(), linked=True, url="http://box:1") == "nobody does the work at box:1"
