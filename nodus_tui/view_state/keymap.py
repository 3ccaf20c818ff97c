"""A person's own keys: from the configuration to what the actions have, and every fault of it. Pure; it knows no widget.

`console: {keys: {kill: Del, extend: [e, ctrl+e], launch: null}}` gives one action another key, one two keys, and one none at all.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from nodus_tui.contract.spec_loading.finding import Finding
from nodus_tui.contract.spec_loading.nearest import nearest
from nodus_tui.contract.wording import quoted
from nodus_tui.view_state.key_actions import KEY_ACTIONS, View, action_by_id
from nodus_tui.view_state.key_moves import MOVE_BY_ID, MOVES
from nodus_tui.view_state.key_names import KeyNameError, key_of, prints, shown_key

Keymap = Mapping[str, tuple[str, ...]]
"""The keys that a person chose, by the id of the action; no key means that it has none."""

NO_KEY = "<none>"
"""A name that no key has: what has no key is bound to it."""
_PATH = ("console", "keys")


class _Owner(Struct, frozen=True):
    """What has a key in some views."""

    id: str
    views: frozenset[View]
    keys: tuple[str, ...]


def keymap_of(written: Mapping[str, tuple[str, ...]]) -> Keymap:
    """The keys as they are named inside. What `keymap_findings` finds fault with is left out; then the file has been refused already."""
    return {name: keys for name, texts in written.items() if _known(name) for keys in (tuple(dict.fromkeys(_valid(texts))),)}


def _known(name: str) -> bool:
    return name in MOVE_BY_ID or any(action.id == name for action in KEY_ACTIONS)


def _valid(texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts:
        try:
            yield key_of(text)
        except KeyNameError:
            continue


def bindings(chosen: Keymap) -> dict[str, str]:
    """The keys of every binding that has others than its own, by the binding's id.

    `VIEW.ACTION` is a view's; `keys.ACTION` is of whatever is moved in, or closed with the key that opened it, where that types nothing.
    """
    bound: dict[str, str] = {}
    for name, keys in chosen.items():
        views = () if name in MOVE_BY_ID else action_by_id(name).views
        bound |= {f"{view.value}.{name}": ",".join(keys) or NO_KEY for view in views}
        bound[f"keys.{name}"] = ",".join(key for key in keys if name != "palette" or not prints(key)) or NO_KEY
    return bound


def keymap_findings(configuration: Mapping[str, object]) -> list[Finding]:
    """Everything that is wrong with the keys in a configuration as it was written: names of actions and keys, clashes.

    What is no text or list of texts at all, the configuration's own model tells.
    """
    console = configuration.get("console")
    written = console.get("keys") if isinstance(console, Mapping) else None
    if not isinstance(written, Mapping):
        return []
    found: list[Finding] = []
    chosen: dict[str, tuple[str, ...]] = {}
    for name, value in written.items():
        if not _known(name):
            ids = [*(action.id for action in KEY_ACTIONS), *MOVE_BY_ID]
            near = nearest(name, ids)
            hint = "" if near else "; `nodus-tui keys` lists them all"
            found.append(Finding((*_PATH, name), f"there is no action {quoted(name)}{hint}", near, at_key=True))
        else:
            keys, faults = _read(name, value)
            found += faults
            chosen[name] = tuple(dict.fromkeys(keys))
    return found + _clashes(chosen)


def _read(name: str, value: object) -> tuple[list[str], list[Finding]]:
    """The keys of one action, and what is wrong with them."""
    keys: list[str] = []
    found: list[Finding] = []
    listed = value if isinstance(value, tuple) else (value,)
    for place, text in enumerate(listed):
        if isinstance(text, bool) or not isinstance(text, str | int):
            continue
        try:
            keys.append(key_of(str(text)))
        except KeyNameError as error:
            path = (*_PATH, name, place) if isinstance(value, tuple) else (*_PATH, name)
            found.append(Finding(path, str(error), error.suggestion))
    return keys, found


def _clashes(chosen: Keymap) -> list[Finding]:
    """One fault for each two things that a key would do in one view; it stands at the later of the two that a person wrote."""
    order = {name: place for place, name in enumerate(chosen)}
    owners = [
        *(_Owner(action.id, frozenset(action.views), chosen.get(action.id, action.keys)) for action in KEY_ACTIONS),
        *(_Owner(move.id, frozenset(move.views), chosen.get(move.id, move.keys)) for move in MOVES),
    ]
    found: list[Finding] = []
    for place, one in enumerate(owners):
        for other in owners[place + 1 :]:
            shared = [key for key in one.keys if key in other.keys]
            where = [view.value for view in View if view in one.views & other.views]
            if shared and where and (one.id in chosen or other.id in chosen):
                later, earlier = sorted((one, other), key=lambda owner: order.get(owner.id, -1), reverse=True)
                found.append(Finding((*_PATH, later.id), _clash(shared, earlier.id, where, own=earlier.id in chosen)))
    return found


def _clash(keys: list[str], other: str, views: list[str], *, own: bool) -> str:
    named = " and ".join(shown_key(key) for key in keys)
    places = ", ".join(views[:3]) + (" and other views" if len(views) > 3 else "")
    whose = "" if own else ", which has it unless it is given another"
    return f"{named} would also be the key of {other}{whose} (in {places})"
