"""What an API answers where all sandboxes are asked for, or the files of something."""

from nodus_tui.contract.base import ContractModel
from nodus_tui.contract.sandboxes import FileEntry, SandboxFact


class Sandboxes(ContractModel):
    """Every sandbox of ours on a machine."""

    sandboxes: tuple[SandboxFact, ...]


class Files(ContractModel):
    """The files of a work folder, or of a job's outputs."""

    files: tuple[FileEntry, ...]
