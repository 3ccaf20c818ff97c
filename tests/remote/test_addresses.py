"""URLs, tokens and certificates of remote APIs: used as they are meant, or refused with a sentence."""

from pathlib import Path

import pytest

from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.remote.address import remote_address
from nodus_tui.remote.versions import skew_note


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://evals.example.org", "https://evals.example.org"),
        ("https://evals.example.org:8800/", "https://evals.example.org:8800"),
        ("https://example.org/nodus/v1/", "https://example.org/nodus"),
        ("http://127.0.0.1:8800", "http://127.0.0.1:8800"),
        ("http://[::1]:8800", "http://[::1]:8800"),
    ],
)
def test_urls(url: str, base: str) -> None:
    assert remote_address(url, {}).url == base


@pytest.mark.parametrize(
    "url", ["evals.example.org", "ftp://x", "https://", "https://a b", "https://x:99999", "https://u:p@x", "https://x/?a=1", "https://x\n"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(NodusError) as refused:
        remote_address(url, {})
    assert refused.value.code is ErrorCode.CONFIGURATION
    assert "p@x" not in refused.value.detail


def test_tokens_and_authorities_are_checked_before_they_are_used(tmp_path: Path) -> None:
    with pytest.raises(NodusError, match="NODUS_TOKEN"):
        remote_address("https://x", {"NODUS_TOKEN": "two words"})
    with pytest.raises(NodusError, match="NODUS_CA"):
        remote_address("https://x", {"NODUS_CA": str(tmp_path / "none.pem")})
    assert remote_address("https://x", {"NODUS_TOKEN": " nodus_abc\n"}).token == "nodus_abc"


def test_a_token_in_the_clear_is_told_of() -> None:
    environ = {"NODUS_TOKEN": "nodus_abc"}
    assert remote_address("http://localhost:1", environ).notes == ()
    assert remote_address("https://evals.example.org", environ).notes == ()
    assert "in the clear" in remote_address("http://evals.example.org", environ).notes[0]


def test_versions() -> None:
    assert skew_note("1.2.3", "1.2.9", "there") == ""
    assert "update this one" in skew_note("1.3.0", "1.2.9", "there")
    assert "update that one" in skew_note("1.1.0", "1.2.9", "there")
    for other in ("2.0.0", "0.9.0", "nonsense", "\x1b[2J"):
        with pytest.raises(NodusError, match="same version") as refused:
            skew_note(other, "1.2.9", "there")
        assert "\x1b" not in refused.value.detail
