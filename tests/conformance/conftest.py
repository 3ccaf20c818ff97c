"""One backend after the other: every test of this folder runs by every way."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ways import WAYS, Authority, Reached, reached

# What the tests of TrainingJobs have a workspace made of.
sys.path.append(str(Path(__file__).parent.parent / "training"))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=WAYS)
async def there(request: pytest.FixtureRequest, tmp_path: Path, authority: Authority) -> AsyncIterator[Reached]:
    async with reached(request.param, tmp_path, authority) as found:
        yield found
