"""Writing results to a file of this machine, in the form in which the command line gives them: CSV, or JSON."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nodus_tui.contract.errors import NodusError
from nodus_tui.contract.resources.training_job import TrainingJob
from nodus_tui.copying import clean_name
from nodus_tui.result_formats import SCORE_TITLES, case_table, score_table
from nodus_tui.screens.base import ViewScreen
from nodus_tui.text_formats import csv_text, json_text
from nodus_tui.training_results import training_document
from nodus_tui.view_state.cells import Tone, line
from nodus_tui.widgets.dialogs import PromptDialog, Switch

_SUFFIXES = (".json", ".csv")


async def export_group(screen: ViewScreen, name: str) -> None:
    """Ask for a file, and write the results of a group into it as they stand now."""
    target = await _ask_where(screen, name)
    if target is None:
        return
    try:
        results = await screen.services.backend.results(name)
    except NodusError as error:
        screen.notice(f"! {error.detail}", Tone.BAD)
        return
    await _write(screen, target, lambda: json_text(results.to_document()), lambda: csv_text(*case_table((results,))))


async def export_job(screen: ViewScreen, job: TrainingJob, document: Mapping[str, Any]) -> None:
    """The same with the results of a TrainingJob: JSON is its results.json, CSV its scores."""
    target = await _ask_where(screen, job.name)
    if target is None:
        return
    try:
        whole = dict(document) or await training_document(screen.services.backend, job)
    except NodusError as error:
        screen.notice(f"! {error.detail}", Tone.BAD)
        return
    scores = job.status.scores if job.status is not None else ()
    await _write(screen, target, lambda: json_text(whole), lambda: csv_text(score_table(scores), SCORE_TITLES))


async def _ask_where(screen: ViewScreen, name: str) -> tuple[Path, bool] | None:
    """The file, and whether one that is there already is replaced; None where the person does not want to."""

    def problem(typed: str) -> str:
        if not typed.strip():
            return "Type the name of a file."
        if Path(typed.strip()).suffix.lower() not in _SUFFIXES:
            return "The name says which form it gets: it ends with .json or .csv."
        try:
            _place(screen, typed)
        except RuntimeError as error:
            return f"That is no place on this machine: {error}"
        return ""

    answer = await screen.app.push_screen_wait(
        PromptDialog(
            f"Write the results of {name}",
            (line("As JSON or as CSV, by the end of the name. It starts where the console was started, unless it begins with / or ~."),),
            value=f"{clean_name(name)}.csv",
            problem=problem,
            switch=Switch(off=("A file that is there already is kept.", "replaces it instead"), on=("It is replaced.", "keeps it instead")),
        )
    )
    if answer is None:
        screen.notice("Nothing was written.", Tone.MUTED)
        return None
    typed, replace = answer
    return _place(screen, typed), replace


def _place(screen: ViewScreen, typed: str) -> Path:
    return screen.services.folder / Path(typed.strip()).expanduser()


async def _write(screen: ViewScreen, target: tuple[Path, bool], as_json: Callable[[], str], as_csv: Callable[[], str]) -> None:
    path, replace = target
    text = (as_json() + "\n") if path.suffix.lower() == ".json" else as_csv()
    try:
        await asyncio.to_thread(_put, path, text, replace=replace)
    except FileExistsError:
        screen.notice(f"! {path} is there already: {screen.key('export')} again, and Tab replaces it.", Tone.WARN)
    except OSError as error:
        screen.notice(f"! {path} cannot be written: {error.strerror or error}", Tone.BAD)
    else:
        screen.notice(f"Wrote {path}.", Tone.GOOD)


def _put(path: Path, text: str, *, replace: bool) -> None:
    with path.open("w" if replace else "x", encoding="utf-8", newline="") as file:
        file.write(text)
