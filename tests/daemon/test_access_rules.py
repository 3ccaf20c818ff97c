"""The pure rules of access: what each request needs, which hosts are let in, how a rate limit counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_backend.daemon.access import AccessPolicy, Role, TokenBucket, bearer_token, host_allowed, listen_hosts, needed_role


@pytest.mark.parametrize(
    ("method", "path", "query", "role"),
    [
        ("GET", "/v1/info", "", Role.VIEWER),
        ("GET", "/v1/info", "probe=false", Role.VIEWER),
        ("GET", "/v1/info", "probe=true", Role.OPERATOR),
        ("GET", "/v1/info", "%70robe=1", Role.OPERATOR),
        ("POST", "/v1/estimate", "minutesPerCase=5", Role.VIEWER),
        ("POST", "/v1/apply", "dryRun=true", Role.VIEWER),
        ("POST", "/v1/apply", "author=me&dryRun=true", Role.VIEWER),
        ("POST", "/v1/apply", "", Role.OPERATOR),
        ("POST", "/v1/apply", "dryRun=false", Role.OPERATOR),
        ("POST", "/v1/apply", "dryRun=true&dryRun=false", Role.OPERATOR),
        ("POST", "/v1/apply", "dryRun=true&dry%52un=false", Role.OPERATOR),
        ("POST", "/v1/apply", "dryRun=%74rue", Role.OPERATOR),
        ("POST", "/v1/apply", "xdryRun=true", Role.OPERATOR),
        ("POST", "/v1/apply", "dryRun=1", Role.OPERATOR),
        ("POST", "/v1/apply/", "dryRun=true", Role.OPERATOR),
        ("POST", "/v1/actions", "dryRun=true", Role.OPERATOR),
        ("POST", "/v1/stop-work", "", Role.OPERATOR),
        ("GET", "/v1/sandboxes", "", Role.VIEWER),
        ("GET", "/v1/runs/hello-c001/files", "", Role.VIEWER),
        ("GET", "/v1/runs/hello-c001/files/content", "path=answer.txt", Role.VIEWER),
        ("POST", "/v1/sandboxes/reap", "", Role.OPERATOR),
        ("GET", "/v1/sandboxes/box/files", "", Role.VIEWER),
        ("POST", "/v1/sandboxes/box/exec", "", Role.OPERATOR),
        ("GET", "/v1/sandboxes/box/exec/0/output", "", Role.OPERATOR),
        ("HEAD", "/v1/sandboxes/exec/exec/0/output", "", Role.OPERATOR),
        ("GET", "/v1/sandboxes/exec/files", "", Role.VIEWER),
        ("POST", "/v1/environments/check", "reference=x@1.0.0", Role.OPERATOR),
        ("GET", "/v1/scheduler", "", Role.OPERATOR),
        ("HEAD", "/v1/scheduler", "after=0", Role.OPERATOR),
        ("GET", "/v1/environments/tasks", "reference=x@1.0.0", Role.VIEWER),
        ("DELETE", "/v1/info", "", Role.OPERATOR),
        ("POST", "/v1/not-yet-known", "", Role.OPERATOR),
    ],
)
def test_what_a_request_needs(method: str, path: str, query: str, role: Role) -> None:
    assert needed_role(method, path, query) is role


def test_an_operator_may_do_what_a_viewer_may_and_not_the_other_way() -> None:
    assert Role.OPERATOR.covers(Role.VIEWER)
    assert Role.OPERATOR.covers(Role.OPERATOR)
    assert Role.VIEWER.covers(Role.VIEWER)
    assert not Role.VIEWER.covers(Role.OPERATOR)


def _tcp(host: str, *names: str) -> AccessPolicy:
    hosts, any_address = listen_hosts(host, names)
    return AccessPolicy(identify=lambda _: None, hosts=hosts, any_address=any_address)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "localhost."])
def test_a_loopback_listener_goes_by_its_usual_names(host: str) -> None:
    assert host_allowed(_tcp("127.0.0.1"), host)


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:80:80", "a@localhost", "192.0.2.1", "[::1"],
)
def test_other_names_are_refused(host: str | None) -> None:
    assert not host_allowed(_tcp("127.0.0.1"), host)


def test_a_wildcard_listener_takes_addresses_and_the_names_given_but_no_other_name() -> None:
    policy = _tcp("0.0.0.0", "Nodus.example")
    assert host_allowed(policy, "192.0.2.7:8443")
    assert host_allowed(policy, "[2001:db8::1]")
    assert host_allowed(policy, "nodus.example:443")
    assert not host_allowed(policy, "rebound.example")
    assert not host_allowed(policy, "localhost")


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer nodus_abc-_1", "nodus_abc-_1"),
        ("bearer  nodus_abc", "nodus_abc"),
        ("Bearer other_abc", None),
        ("Basic nodus_abc", None),
        ("nodus_abc", None),
        ("Bearer nodus_a nodus_b", None),
        ("", None),
        (None, None),
    ],
)
def test_a_token_is_taken_from_a_bearer_header_only(header: str | None, token: str | None) -> None:
    assert bearer_token(header) == token


@given(st.lists(st.floats(min_value=0, max_value=3), max_size=300), st.floats(min_value=0.5, max_value=100), st.integers(1, 20))
def test_a_bucket_never_lets_more_through_than_its_burst_and_its_rate(pauses: list[float], rate: float, burst: int) -> None:
    bucket, now, taken = TokenBucket(rate, burst), 0.0, 0
    for pause in pauses:
        now += pause
        wait = bucket.take(now)
        taken += wait == 0
        assert wait >= 0
        assert taken <= burst + rate * now + 1e-6


def test_who_waits_as_long_as_told_is_let_through() -> None:
    bucket = TokenBucket(rate=2, burst=1)
    assert bucket.take(10.0) == 0
    wait = bucket.take(10.0)
    assert wait == pytest.approx(0.5)
    assert bucket.take(10.0 + wait) == 0
