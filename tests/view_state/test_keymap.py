"""A person's own keys: which bindings they give, and every fault of them at once, with the place in the file and the nearest name."""

from pathlib import Path

import pytest

from nodus_tui.console_settings import console_settings
from nodus_tui.contract.errors import NodusError
from nodus_tui.view_state.key_actions import KEY_ACTIONS, Situation, View, actions_of, key_words, keys_markdown
from nodus_tui.view_state.key_moves import MOVES, moving
from nodus_tui.view_state.keymap import NO_KEY, bindings, keymap_findings, keymap_of


def keymap(text: str, tmp_path: Path):
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return keymap_of(console_settings(file).keys)


def faults(text: str, tmp_path: Path) -> list[str]:
    with pytest.raises(NodusError) as refused:
        keymap(text, tmp_path)
    return [fault.sentence().removeprefix(f"{tmp_path}/") for fault in refused.value.faults]


def test_one_key_several_keys_no_key(tmp_path: Path) -> None:
    chosen = keymap("console: {keys: {kill: Del, extend: [e, ctrl+e, e], launch: null, minutes: 5, retry: []}}", tmp_path)
    assert chosen == {"kill": ("delete",), "extend": ("e", "ctrl+e"), "launch": (), "minutes": ("5",), "retry": ()}
    bound = bindings(chosen)
    assert bound["campaigns.kill"] == bound["job.kill"] == "delete"
    assert bound["group.extend"] == "e,ctrl+e"
    assert bound["gpus.launch"] == NO_KEY
    assert "gpus.extend" not in bound


def test_actions_and_help_have_the_chosen_keys(tmp_path: Path) -> None:
    chosen = Situation(keys=keymap("console: {keys: {kill: Del, quit: Q, launch: null, down: [n, down], hit_next: Z}}", tmp_path))
    of_run = {action.id: action.keys for action in actions_of(View.RUN, chosen)}
    assert of_run["kill"] == ("delete",)
    assert of_run["quit"] == ("Q", "ctrl+c"), "ctrl+c leaves whatever a person chooses"
    assert of_run["extend"] == ("e",)
    assert key_words("kill", chosen) == "Del"
    assert key_words("launch", chosen) == "ctrl+p launch"
    assert moving(chosen.keys)[0][0] == "↑ n or k ↓"
    text = keys_markdown(chosen)
    assert "| `Del` | kill |" in text
    assert "| palette | launch |" in text


def test_two_actions_may_change_places(tmp_path: Path) -> None:
    assert keymap("console: {keys: {kill: e, extend: x}}", tmp_path) == {"kill": ("e",), "extend": ("x",)}


def test_actions_that_never_meet_may_share_a_key(tmp_path: Path) -> None:
    assert keymap("console: {keys: {halves: z, minutes: z}}", tmp_path) == {"halves": ("z",), "minutes": ("z",)}


def test_all_faults_come_at_once_with_place_and_nearest_name(tmp_path: Path) -> None:
    text = """\
console:
  mouse: on
  keys:
    kil: x
    kill: ctrl+s
    extend: [e, entr]
    open: l
    retry: [x, j]
    qqqqqq: a
    copy: true
"""
    told = [sentence.partition(" (in ")[0] for sentence in faults(text, tmp_path)]
    assert told == [
        'config.yaml:2:10: console.mouse: mouse is "on"; it must be true or false, without quotes',
        'config.yaml:4:5: console.keys.kil: there is no action "kil" (did you mean "kill"?)',
        (
            "config.yaml:5:11: console.keys.kill: ctrl+s cannot be used: a terminal's flow control takes it: it holds the output, "
            "and the screen seems to hang"
        ),
        'config.yaml:6:17: console.keys.extend[1]: "entr" is no key (did you mean "enter"?)',
        "config.yaml:7:11: console.keys.open: l would also be the key of launch, which has it unless it is given another",
        "config.yaml:8:12: console.keys.retry: j would also be the key of down, which has it unless it is given another",
        'config.yaml:9:5: console.keys.qqqqqq: there is no action "qqqqqq"; `nodus-tui keys` lists them all',
        "config.yaml:10:11: console.keys.copy: it must be a key such as x, ctrl+x or Esc, a list of keys, or null for no key at all",
    ]


def test_a_clash_of_two_own_keys_is_told_once_at_the_later_one(tmp_path: Path) -> None:
    [told] = faults("console:\n  keys:\n    kill: z\n    sort: z\n", tmp_path)
    assert told.startswith("config.yaml:4:11: console.keys.sort: z would also be the key of kill (in campaigns, group, jobs")


def test_the_keys_that_come_with_the_console_have_no_fault() -> None:
    written = {each.id: tuple(each.keys) for each in (*KEY_ACTIONS, *MOVES) if each.id != "quit"}
    assert keymap_findings({"console": {"keys": {**written, "quit": "q"}}}) == []


def test_ids_of_actions_and_moves_are_one_name_space() -> None:
    ids = [*(action.id for action in KEY_ACTIONS), *(move.id for move in MOVES)]
    assert len(ids) == len(set(ids))


def test_the_example_of_the_document_has_no_fault(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "console.md").read_text(encoding="utf-8")
    [example] = [
        part.partition("```")[0]
        for part in text.split("```yaml\n")[1:]
        if part.startswith("console:") and "keys:" in part.partition("```")[0]
    ]
    assert keymap(example, tmp_path)["up"] == ("i", "up")


def test_no_keys_at_all_say_nothing(tmp_path: Path) -> None:
    assert keymap("console: {theme: nodus-dark}", tmp_path) == {}
    assert keymap_findings({"console": "x"}) == []
    assert keymap_findings({}) == []
