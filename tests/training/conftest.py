import sys
from pathlib import Path

import pytest
from training_place import TrainingPlace, stand_in_python

sys.path.append(str(Path(__file__).parent.parent / "sandboxes"))
"""The Docker engines of the sandboxes' tests serve evaluations too."""


@pytest.fixture
def place(tmp_path: Path) -> TrainingPlace:
    """With the stand-in for the harness."""
    return TrainingPlace(tmp_path, stand_in_python(tmp_path))
