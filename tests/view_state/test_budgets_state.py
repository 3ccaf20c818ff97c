from budget_records import budget, changed, some_budgets
from console_records import NOW

from nodus_tui.contract.events import Event, Snapshot
from nodus_tui.view_state.budgets import BUDGET_COLUMNS, BudgetsState, budget_facts, scope_text, sign_of, used_bar, used_text
from nodus_tui.view_state.cells import line_width, plain
from nodus_tui.view_state.filtering import parse_filter
from nodus_tui.view_state.rows import Rows


def loaded(*budgets) -> BudgetsState:  # type: ignore[no-untyped-def]
    state = BudgetsState()
    state.load(Snapshot(cursor=10, budgets=budgets))
    return state


def test_percent_and_bar_show_the_limit_as_reached_only_when_it_is() -> None:
    for spent, words in (("0.00", "0%"), ("0.01", "<1%"), ("199.99", "99%"), ("200.00", "100%"), ("250.00", "125%")):
        shown = budget(spent=spent)
        assert used_text(shown) == words
        assert line_width(used_bar(shown, 10)) == 10
        assert (plain(used_bar(shown, 10)) == "█" * 10) == (words in {"100%", "125%"})


def test_signs_and_scopes_are_words() -> None:
    words = {name: (sign_of(each).word, scope_text(each)) for name, each in some_budgets().items()}
    assert words == {
        "team-a": ("Open", "project red, team=a"),
        "all": ("Open", "everything"),
        "trial": ("Blocking", "project trial"),
        "watch": ("Over", "everything"),
        "new": ("Open", "everything"),
    }


def test_events_make_change_and_delete_budgets() -> None:
    state = loaded(budget())
    assert state.words() == ()
    assert not state.fold(changed("month", 10, blocking=True))
    assert state.fold(changed("month", 11, blocking=True))
    assert plain(state.words()) == "B ‖ 1 budget blocks"
    document = budget("other", limit="7.00").to_document()
    made = {"metadata": {"name": "other"}, "spec": document["spec"], "status": document["status"]}
    assert state.fold(Event.model_validate({"cursor": 12, "at": NOW, "change": "Created", "kind": "Budget", "name": "other", **made}))
    assert (state.rows.total, plain(state.summary())) == (2, "1 blocking · 1 over")
    assert state.fold(Event(cursor=13, at=NOW, change="Deleted", kind="Budget", name="other"))
    assert not state.fold(Event(cursor=14, at=NOW, change="Deleted", kind="Budget", name="unknown"))
    assert state.rows.total == 1


def test_the_filter_looks_at_names_scopes_states_and_spend() -> None:
    state = loaded(*some_budgets().values())
    for words, names in (
        ("state:blocking", {"trial"}),
        ("team=a", {"team-a"}),
        ("state:monthly", {"team-a", "all"}),
        ("cost>100", {"team-a"}),
    ):
        state.filter(parse_filter(words))
        assert {state.rows.key_at(place) for place in range(len(state.rows))} == names, words


def test_the_facts_tell_money_period_action_and_who_is_told() -> None:
    shown = "\n".join(plain(each) for each in budget_facts(some_budgets()["team-a"], 80))
    for words in (
        "● Open",
        "93%, $187.50 of $200.00, $12.50 left",
        "Monthly since 01 ",
        "00:00 UTC",
        "thresholds 50%, 80%, 100%; told: 50%, 80%",
    ):
        assert words in shown, (words, shown)
    for words in (
        "Block: refuses new work and stops running work at its limit",
        "counts project red, team=a",
        "evals@example.com, tell 'the team'",
    ):
        assert words in shown, (words, shown)
    assert "‖ new work in its scope is refused" in "\n".join(plain(each) for each in budget_facts(some_budgets()["trial"], 80))


def test_every_column_shows_and_sorts_every_kind_of_budget() -> None:
    for column in BUDGET_COLUMNS:
        rows = Rows(BUDGET_COLUMNS, sort=column.key)
        for each in some_budgets().values():
            rows.put(each.name, each)
            assert line_width(column.fitted(each, NOW, column.width)) <= column.width
        assert len(rows) == 5
