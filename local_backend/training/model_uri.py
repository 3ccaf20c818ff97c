"""What `spec.model.uri` names: a model of the Hugging Face hub, one of this machine's, or a family that a server serves. Pure."""

import re
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct

from nodus_tui.contract.wording import quoted

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")

Dialect = Literal["completions", "chat"]
"""Which of the two of the OpenAI protocol a served model is asked in."""

_DIALECTS: dict[str, Dialect | None] = {"": None, "completions": "completions", "chat": "chat"}


class HubModel(Struct, frozen=True):
    """A repository of the Hugging Face hub."""

    repository: str
    revision: str
    """A commit, a tag or a branch; empty means the newest of its main branch."""


class LocalModel(Struct, frozen=True):
    """A folder as transformers writes one, or a GGUF file."""

    path: str
    """Absolute."""

    @property
    def is_gguf(self) -> bool:
        """Whether it is a single file in that format."""
        return self.path.endswith(".gguf")


class ServedModel(Struct, frozen=True):
    """A family of the model catalogue, or one that a job serves."""

    family: str
    dialect: Dialect | None
    """None where the address leaves it open."""


ModelSource = HubModel | LocalModel | ServedModel


def parse(uri: str) -> ModelSource:
    """The source. Raises ValueError with a sentence."""
    scheme, _, rest = uri.partition("://")
    match scheme:
        case "hf":
            return _hub(uri, rest)
        case "file":
            return _local(uri, rest)
        case "family":
            return _served(uri, rest)
        case _:
            raise ValueError(
                f"{quoted(scheme)} is no kind of model address here: write hf://organisation/name@commit, file:///folder, or family://NAME "
                "for a family of the model catalogue"
            )


def _hub(uri: str, rest: str) -> HubModel:
    repository, at, revision = rest.partition("@")
    if not _REPOSITORY.fullmatch(repository) or ".." in repository or (at and not _REVISION.fullmatch(revision)) or ".." in revision:
        raise ValueError(f"{quoted(uri)} is not hf://organisation/name@commit")
    return HubModel(repository, revision)


def _local(uri: str, rest: str) -> LocalModel:
    path = unquote(rest)
    if not path.startswith("/") or "\0" in path or ".." in PurePosixPath(path).parts:
        raise ValueError(f"{quoted(uri)} is not file:// and an absolute path, such as file:///models/name")
    return LocalModel(path)


def _served(uri: str, rest: str) -> ServedModel:
    family, _, dialect = rest.partition("/")
    if not family or dialect not in _DIALECTS:
        raise ValueError(f"{quoted(uri)} is not family://NAME, family://NAME/completions or family://NAME/chat")
    return ServedModel(family, _DIALECTS[dialect])
