"""What a spec would change: each of its documents beside the one that is applied, line by line, as `diff -u` shows it.

Both sides are written in one way, so that only meaning differs: comments, order of fields and quotes are no difference.
"""

from collections.abc import Sequence
from difflib import unified_diff

from msgspec import Struct

from nodus_tui.contract.backend import Backend
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.dump import dump_yaml
from nodus_tui.view_state.cells import Line, Span, Tone, line


class Difference(Struct, frozen=True):
    """One document against what is applied."""

    kind: str
    name: str
    new: bool
    """Nothing of that name is applied."""
    lines: tuple[str, ...]
    """A unified difference; empty where there is none."""


def difference(resource: Resource, applied: Resource | None) -> Difference:
    """What applying a resource would change."""
    was = _written(applied) if applied is not None else ()
    now = _written(resource)
    names = (f"applied/{resource.kind}/{resource.name}" if applied is not None else "/dev/null", f"file/{resource.kind}/{resource.name}")
    return Difference(resource.kind, resource.name, applied is None, tuple(unified_diff(was, now, *names, lineterm="")))


def _written(resource: Resource) -> Sequence[str]:
    return dump_yaml([resource.model_copy(update={"status": None})]).rstrip("\n").split("\n")


async def differences(backend: Backend, bundle: SpecBundle) -> tuple[Difference, ...]:
    """Each document of a bundle against what the workspace has. Raises NodusError where that cannot be told."""
    found: list[Difference] = []
    for document in bundle:
        resource = document.resource
        try:
            applied: Resource | None = await backend.get(resource.kind, resource.name)
        except NodusError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            applied = None
        found.append(difference(resource, applied))
    return tuple(found)


def difference_lines(found: Sequence[Difference]) -> tuple[Line, ...]:
    """The differences in tones; the signs in front say the same."""
    lines: list[Line] = []
    for each in found:
        if not each.lines:
            lines += [line(Span(f"{each.kind} {each.name}", Tone.STRONG), Span("  as it is applied", Tone.GOOD)), ()]
            continue
        told = "  not applied yet" if each.new else "  differs from what is applied"
        lines += [line(Span(f"{each.kind} {each.name}", Tone.STRONG), Span(told, Tone.WARN))]
        lines += [line(Span(text, _tone(text))) for text in each.lines]
        lines.append(())
    return tuple(lines)


def _tone(text: str) -> Tone:
    if text.startswith(("---", "+++")):
        return Tone.MUTED
    return {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.INFO}.get(text[:1], Tone.PLAIN)
