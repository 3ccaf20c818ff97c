"""Files that belong together are never of two sets once a replacement that was cut short has been finished."""

from pathlib import Path

import pytest

from local_backend.jobs.replacing import finish_replacing, replace_together

OLD = {"manifest.json": b"old", "provenance.json": b"old", "results.json": b"old"}
NEW = dict.fromkeys(OLD, b"new")


class CutError(BaseException):
    """The process ends here."""


def found(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("steps", range(8))
def test_wherever_it_is_cut_short_all_are_old_or_all_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    replace_together(folder, OLD)
    done = 0

    def cut(method: str) -> None:
        before = getattr(Path, method)

        def step(self: Path, *words: object) -> object:
            nonlocal done
            if done == steps:
                raise CutError
            done += 1
            return before(self, *words)

        monkeypatch.setattr(Path, method, step)

    for method in ("write_bytes", "rename", "replace"):
        cut(method)
    if steps < 7:
        with pytest.raises(CutError):
            replace_together(folder, NEW)
    else:
        replace_together(folder, NEW)
    monkeypatch.undo()
    finish_replacing(folder)
    assert found(folder) == (OLD if steps <= 3 else NEW)
    # And it can be done again, whatever was left.
    replace_together(folder, NEW)
    assert found(folder) == NEW
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]
