"""Spec files as the verbs take them: paths, directories, and standard input."""

import sys

from nodus_tui.contract.spec_loading.bundle import SpecBundle
from nodus_tui.contract.spec_loading.files import read_sources
from nodus_tui.contract.spec_loading.loader import load_specs


def load_files(files: tuple[str, ...]) -> SpecBundle:
    """Every document of the files. Raises NodusError with every fault at once; reads standard input only for `-`."""
    return load_specs(read_sources(files, sys.stdin.buffer))
