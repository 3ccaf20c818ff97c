"""A task folder in Harbor's layout: `task.toml`, `instruction.md`, `environment/`, `tests/test.sh`, `solution/solve.sh`.

What a task asks for and sandboxes here do not give is a fault, never left out in silence. Fields that are not known are ignored, for the
format grows; its schema versions 1.0 to 1.4 were looked at.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local_backend.environments.task_folders.dockerfile import DEFAULT_WORKDIR, Dockerfile, parse_dockerfile
from local_backend.environments.task_folders.folder_task import FolderTask, runnable, without_canary
from local_backend.environments.task_folders.trees import FolderFaultError, context_digest, files_below, text_of

MARK = "task.toml"
_COMPOSE_FILES = ("docker-compose.yaml", "docker-compose.yml", "singularity-compose.yaml")
_UNSUPPORTED_FIELDS = {
    "mcp_servers": "agents here have their own tools only",
    "skills_dir": "agents here have no skills",
    "healthcheck": "nothing runs in a sandbox before the agent does",
}
_VARIABLE = re.compile(r"\$\{([^}:]+)(?::-([^}]*))?\}")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([GMK])", re.IGNORECASE)
_MIB_OF = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}

_Seconds = Annotated[float, Field(gt=0, le=7 * 86_400, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class _Environment(_Part):
    docker_image: str | None = None
    os: str = "linux"
    cpus: Annotated[float, Field(gt=0, le=256)] = 1
    memory_mb: Annotated[int, Field(gt=0)] = 2048
    storage_mb: Annotated[int, Field(gt=0)] = 10_240
    gpus: int = 0
    workdir: str | None = None
    env: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _sizes_as_texts(cls, data: Any) -> Any:
        """Older tasks write sizes as `4G`."""
        if not isinstance(data, dict):
            return data
        changed = {key: value for key, value in data.items() if value is not None}
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            match = _SIZE.fullmatch(str(data.get(old, "")).strip())
            if match:
                changed.setdefault(new, max(1, int(float(match[1]) * _MIB_OF[match[2].upper()])))
        return changed


class _Verifier(_Part):
    timeout_sec: _Seconds = 600
    env: dict[str, str] = {}
    environment_mode: str | None = None


class _Agent(_Part):
    timeout_sec: _Seconds | None = None


class _Solution(_Part):
    env: dict[str, str] = {}


class _Task(_Part):
    metadata: dict[str, Any] = {}
    environment: _Environment = _Environment()
    verifier: _Verifier = _Verifier()
    agent: _Agent = _Agent()
    solution: _Solution = _Solution()


def read_harbor(folder: Path) -> FolderTask:
    """The task in a folder. Raises FolderFaultError with every fault, one on a line."""
    told = _told(folder)
    faults = list(_unsupported(folder, told))
    environment = folder / "environment"
    dockerfile = Dockerfile()
    if told.environment.docker_image is None or (environment / "Dockerfile").exists():
        try:
            dockerfile = parse_dockerfile(text_of(environment / "Dockerfile"))
        except FolderFaultError as fault:
            faults.append(f"environment/{fault}{'' if told.environment.docker_image else f', and {MARK} names no docker_image'}")
    workdir = told.environment.workdir or dockerfile.workdir or DEFAULT_WORKDIR
    if told.environment.workdir is None and dockerfile.unresolved:
        faults.append(
            f"environment/Dockerfile: WORKDIR uses {', '.join(dockerfile.unresolved)}, which it gives no value: write the path out"
        )
    tests, solution = files_below(folder / "tests"), files_below(folder / "solution")
    if "test.sh" not in tests:
        faults.append("tests/test.sh is missing")
    environ = _filled(told.verifier.env, "[verifier].env", faults)
    solution_environ = _filled(told.solution.env, "[solution].env", faults)
    prompt = without_canary(text_of(folder / "instruction.md"))
    if not prompt:
        faults.append("instruction.md is empty")
    if faults:
        raise FolderFaultError("\n".join(faults))
    image = told.environment.docker_image or f"nodus-task:{context_digest(environment)[:32]}"
    return FolderTask(
        id=folder.name,
        layout="harbor",
        prompt=prompt,
        split="train" if told.metadata.get("split") == "train" else "test",
        metadata=_shown(told.metadata),
        image=image,
        build=None if told.environment.docker_image else str(environment),
        workdir=workdir,
        agent_seconds=told.agent.timeout_sec,
        tests=runnable(tests, "test.sh"),
        test_script="test.sh",
        test_seconds=told.verifier.timeout_sec,
        environ=environ,
        solution=runnable(solution, "solve.sh") if "solve.sh" in solution else {},
        solution_script="solve.sh",
        solution_environ=solution_environ,
        cpus=told.environment.cpus,
        memory_mib=told.environment.memory_mb,
        storage_mib=told.environment.storage_mb,
    )


def _told(folder: Path) -> _Task:
    try:
        return _Task.model_validate(tomllib.loads(text_of(folder / MARK)))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line \d+", str(error))
        raise FolderFaultError(f"{MARK} is no valid TOML{f' {place[0][1:]}' if place else ''}") from None
    except ValidationError as error:
        told = (
            f"{MARK}: {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False, include_url=False)
        )
        raise FolderFaultError("\n".join(told)) from None


def _unsupported(folder: Path, told: _Task) -> Iterator[str]:
    """What a task asks for and sandboxes here do not give."""
    yield from _unsupported_places(folder, told.environment)
    yield from _unsupported_tests(told.verifier, told.agent)
    if (told.model_extra or {}).get("steps"):
        yield f"{MARK}: [[steps]] is not supported: a task here has one instruction and one set of tests"
    if (folder / "trajectory.json").exists():
        yield "trajectory.json is not supported: a conversation here starts with the instruction"


def _unsupported_places(folder: Path, environment: _Environment) -> Iterator[str]:
    extra = environment.model_extra or {}
    if environment.os.lower() != "linux":
        yield f"{MARK}: [environment].os is {environment.os}: sandboxes here run Linux only"
    if any((folder / "environment" / name).exists() for name in _COMPOSE_FILES):
        yield "environment/ has a compose file: a sandbox here is one container without services beside it"
    if environment.gpus or extra.get("tpu"):
        yield f"{MARK}: [environment] asks for accelerators, which sandboxes here do not have"
    if environment.env:
        yield f"{MARK}: [environment].env is not read: set the variables in the Dockerfile (ENV)"
    for name, why in _UNSUPPORTED_FIELDS.items():
        if extra.get(name):
            yield f"{MARK}: [environment].{name} is not supported: {why}"
    if extra.get("network_mode") == "allowlist":
        yield f"{MARK}: [environment].network_mode allowlist is not supported: a sandbox here has the network or has none"


def _unsupported_tests(verifier: _Verifier, agent: _Agent) -> Iterator[str]:
    asked = verifier.model_extra or {}
    if "user" in asked or "user" in (agent.model_extra or {}):
        yield f"{MARK}: a user for the agent or the verifier is not supported: both are the sandbox's own user here, and never root"
    if verifier.environment_mode == "separate" or asked.get("environment"):
        yield f"{MARK}: [verifier] wants an environment of its own: tests here run in the agent's image"
    if asked.get("collect"):
        yield f"{MARK}: [[verifier.collect]] is not supported: the agent's sandbox is gone when the tests run"
    if "allowlist" in {asked.get("network_mode"), (agent.model_extra or {}).get("network_mode")}:
        yield f"{MARK}: network_mode allowlist is not supported: a sandbox here has the network or has none"


def _filled(variables: Mapping[str, str], what: str, faults: list[str]) -> dict[str, str]:
    """Variables with their templates' defaults; one of this machine's never goes into a sandbox."""
    made = {}
    for name, value in variables.items():
        missing = [match[1] for match in _VARIABLE.finditer(value) if match[2] is None]
        if missing:
            faults.append(f"{MARK}: {what} wants {', '.join(missing)} of this machine, and nothing of this machine goes into a sandbox")
        made[name] = _VARIABLE.sub(lambda match: match[2] or "", value)
    return made


def _shown(metadata: Mapping[str, Any]) -> dict[str, object]:
    """The metadata that tell nothing of the solution; authors put explanations of it beside them."""
    kept: dict[str, object] = {name: metadata[name] for name in ("difficulty", "category") if isinstance(metadata.get(name), str)}
    tags = metadata.get("tags", metadata.get("keywords"))
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        kept["tags"] = tags
    return kept
