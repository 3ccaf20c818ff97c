"""An amount beside its cap in ever fewer digits: none of the forms reads as if more were used than is."""

from decimal import Decimal

import pytest

from nodus_tui.view_state.cells import plain
from nodus_tui.view_state.money import money_beside_cap


@pytest.mark.parametrize(
    ("amount", "cap", "forms"),
    [
        ("0.0000001", "0.01", ["<$0.0001/$0.01", "<$0.0001/$0.01", "<1%/$0.01", "<$0.0001", "<$0.0001", "<$0.01"]),
        ("0.0042", "0.01", ["$0.0042/$0.01", "$0.004/$0.01", "$0.0042", "$0.004", "<$0.01"]),
        ("0.0042", "5.00", ["$0.0042/$5.00", "$0.004/$5.00", "<$0.01/$5.00", "<1%/$5.00", "$0.0042", "$0.004", "<$0.01"]),
    ],
)
def test_a_small_amount_beside_its_cap_never_looks_as_large_as_that(amount: str, cap: str, forms: list[str]) -> None:
    assert [plain(form) for form in money_beside_cap(Decimal(amount), Decimal(cap))] == forms
