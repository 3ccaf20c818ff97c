"""From a sandbox grader of a spec and a row of a task file to the trial of that task. The grader's process only."""

from collections.abc import Callable, Mapping

from local_backend.environments.task_contents import ContentError, check_size, file_content, grader_folder
from local_backend.environments.task_file import Needs, ParsedRow
from local_backend.environments.trials import Reference, TaskFile, Trial, TrialLimits
from nodus_tui.contract.resources.environment import ProgramGrader, PytestGrader, SandboxGrader

DEFAULT_SOLUTION_FILE = "solution.py"

MakeTrial = Callable[[ParsedRow], Trial]


def needs_of(grader: SandboxGrader) -> Needs:
    """What a row must have for the grader."""
    return Needs(answer=False, tests=isinstance(grader, PytestGrader), solution=True)


def trial_maker(grader: SandboxGrader) -> MakeTrial:
    """Makes the trial of each row; what it makes raises ContentError. Raises SourceError when the grader's own files are not usable."""
    limits = TrialLimits(
        seconds=grader.timeout.total_seconds(),
        cpus=grader.cpus,
        memory_bytes=int(grader.memory_gib * 2**30),
        disk_bytes=int(grader.disk_gib * 2**30),
        pids=grader.processes,
    )
    solution_file = grader.solution_file
    if solution_file is None and grader.solution != "files":
        solution_file = DEFAULT_SOLUTION_FILE
    shared = grader_folder(grader.files) if isinstance(grader, ProgramGrader) and grader.files is not None else {}

    def make(row: ParsedRow) -> Trial:
        tests = decoded(row.tests)
        reference = _reference(row.solution, grader, solution_file)
        check_size(decoded(row.files), tests, reference.files or {}, reference.text or "")
        return Trial(
            kind=grader.type,
            command=grader.command if isinstance(grader, ProgramGrader) else (),
            grader_files=tests if isinstance(grader, PytestGrader) else shared,
            answer=row.answer,
            solution=grader.solution,
            solution_file=solution_file,
            partial_reward=not isinstance(grader, PytestGrader) or grader.reward == "fraction",
            threshold=grader.threshold if isinstance(grader, ProgramGrader) else 1,
            image=grader.image,
            limits=limits,
            reference=None if row.solution is None else reference,
        )

    return make


def _reference(solution: Mapping[str, str] | str | None, grader: SandboxGrader, solution_file: str | None) -> Reference:
    match solution:
        case None:
            return Reference()
        case str() if grader.solution == "files":
            return Reference(files={solution_file or DEFAULT_SOLUTION_FILE: TaskFile.of(solution.encode())})
        case str():
            return Reference(text=solution)
        case _ if grader.solution == "files":
            return Reference(files=decoded(solution))
        case _:
            if list(solution) != [solution_file]:
                raise ContentError(f"the solution is no text, and not {solution_file} alone, which is what this grader judges")
            return Reference(text=solution[str(solution_file)])


def decoded(files: Mapping[str, str]) -> dict[str, TaskFile]:
    """The files behind their texts. Raises ContentError."""
    return {path: file_content(text) for path, text in files.items()}
