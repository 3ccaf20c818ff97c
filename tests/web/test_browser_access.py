"""Who may come in from a browser, and what a request may ask."""

import pytest

from nodus_tui.web.access import key_of_header, key_of_protocols, origin_allowed, terminal_size


def test_the_key_is_found_among_the_protocols_and_in_the_header() -> None:
    assert key_of_protocols(["nodus.console", "nodus.key.abc-_1"]) == "abc-_1"
    assert key_of_protocols(["nodus.console"]) == ""
    assert key_of_protocols(["nodus.key."]) == ""
    assert key_of_protocols(["nodus.key.a b"]) == ""
    assert key_of_protocols(["nodus.key." + "x" * 201]) == ""
    assert key_of_header("Bearer abc") == key_of_header(" bearer  abc ") == "abc"
    assert {key_of_header(other) for other in ("", "Basic abc", "Bearer", "Bearer a b", "Bearer \x00", "Bearer é")} == {""}


@pytest.mark.parametrize(
    ("origin", "host", "names", "allowed"),
    [
        ("http://127.0.0.1:8900", "127.0.0.1:8900", (), True),
        ("https://Wall.Example", "wall.example", (), True),
        ("http://[::1]:8900", "[::1]:8900", (), True),
        ("http://localhost:8900", "127.0.0.1:8900", (), False),
        ("http://evil.example", "127.0.0.1:8900", (), False),
        ("http://127.0.0.1:8901", "127.0.0.1:8900", (), False),
        ("https://wall.example", "127.0.0.1:8900", ("wall.example",), True),
        ("https://wall.example:444", "127.0.0.1:8900", ("wall.example",), True),
        ("https://wall.example.evil", "127.0.0.1:8900", ("wall.example",), False),
        ("https://evil:80@wall.example", "wall.example", (), False),
        ("null", "127.0.0.1:8900", (), False),
        ("", "127.0.0.1:8900", (), False),
        (None, "127.0.0.1:8900", (), False),
        ("http://127.0.0.1:8900", None, (), False),
        ("file://", "", (), False),
    ],
)
def test_a_socket_is_for_pages_of_the_server_only(origin: str | None, host: str | None, names: tuple[str, ...], allowed: bool) -> None:
    assert origin_allowed(origin, host, names) is allowed


def test_a_size_is_what_can_be_drawn() -> None:
    assert terminal_size("142", "38") == terminal_size(142, 38) == (142, 38)
    assert terminal_size(10**9, "99999") == (500, 200)
    assert terminal_size(0, "1") == (20, 5)
    for nonsense in (None, "", "x", "-5", "1e9", True, 1.5, [], {}, "9" * 5000):
        assert terminal_size(nonsense, nonsense) == (80, 24)
