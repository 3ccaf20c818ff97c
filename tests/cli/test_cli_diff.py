"""`diff`: a spec against what is applied."""

import json
from collections.abc import Callable

import pytest
from cli_workspace import Workspace
from click.testing import Result

pytestmark = pytest.mark.timeout(90)

BUDGET = """\
apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: month}
spec: {limitUSD: "%s", period: Monthly}
"""


def test_what_would_change_is_told_by_signs_and_by_the_exit_code(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    path = workspace.write(BUDGET % "100.00")
    new = nodus("diff", "-f", path)
    assert new.exit_code == 1
    assert new.stdout.splitlines()[:2] == ["--- /dev/null", "+++ file/Budget/month"]
    assert nodus("apply", "-f", path).exit_code == 0
    same = nodus("diff", "-f", path)
    assert (same.exit_code, same.stdout) == (0, "")
    workspace.write("# another comment\n" + BUDGET % "50.00")
    changed = nodus("diff", "-f", path)
    assert changed.exit_code == 1
    signed = [text for text in changed.stdout.splitlines() if text[:1] in "+-" and text[:3] not in {"---", "+++"}]
    assert signed == ['-  limitUSD: "100.00"', '+  limitUSD: "50.00"']
    (told,) = json.loads(nodus("diff", "-f", path, "-o", "json").stdout)
    assert (told["kind"], told["name"], told["new"]) == ("Budget", "month", False)


def test_a_spec_with_a_fault_is_not_compared(workspace: Workspace, nodus: Callable[..., Result]) -> None:
    refused = nodus("diff", "-f", workspace.write(BUDGET % "x"))
    assert refused.exit_code == 2
    assert "spec.limitUSD" in refused.stderr
