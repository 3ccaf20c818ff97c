"""`get environments --catalogue`: what comes with nodus-tui, in every format."""

import json

import pytest
from click.testing import CliRunner

from nodus_tui.cli.main import cli


@pytest.mark.parametrize("output", ["table", "csv", "yaml", "json"])
def test_the_catalogue_is_listed(output: str) -> None:
    result = CliRunner().invoke(cli, ["get", "env", "--catalogue", "-o", output])
    assert result.exit_code == 0, result.output
    assert "nodus/arithmetic-v2" in result.stdout
    if output == "json":
        first = json.loads(result.stdout)[0]
        assert (first["name"], first["version"], first["splits"]) == ("nodus/arithmetic-v2", "2.0.0", ["train", "test"])


def test_only_environments_have_a_catalogue() -> None:
    result = CliRunner().invoke(cli, ["get", "agents", "--catalogue"])
    assert result.exit_code == 2
    assert "nodus-tui get environments --catalogue" in result.stderr
