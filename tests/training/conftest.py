from pathlib import Path

import pytest
from training_place import TrainingPlace, stand_in_python


@pytest.fixture
def place(tmp_path: Path) -> TrainingPlace:
    """With the stand-in for the harness."""
    return TrainingPlace(tmp_path, stand_in_python(tmp_path))
