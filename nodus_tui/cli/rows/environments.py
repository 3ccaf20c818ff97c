"""Environments as lines of `get`. Pure."""

from nodus_tui.contract.resources.environment import Environment

TITLES = ("NAME", "VERSION", "SOURCE", "TASKS", "DIGEST")


def environment_row(environment: Environment) -> tuple[str, ...]:
    """The cells of one."""
    status = environment.status
    if status is None:
        return environment.name, environment.spec.version, "-", "-", "-"
    tasks = ", ".join(f"{split} {count}" for split, count in status.tasks.items()) or "endless"
    return environment.name, environment.spec.version, status.source, tasks, status.digest
