"""The configuration file: defaults, exact prices, and faults as good as those of specs."""

from decimal import Decimal

import pytest

from nodus_tui.contract.configuration import Configuration, TokenPrice
from nodus_tui.contract.errors import ErrorCode, NodusError
from nodus_tui.contract.spec_loading.loader import load_configuration

GOOD = """\
models:
  - family: haiku
    provider: anthropic
    name: some-model
    apiKeyEnv: SOME_KEY
    price: {inputPerMTok: 0.80, outputPerMTok: "4.00"}
  - {family: own, provider: openai, name: served, baseURL: "http://127.0.0.1:8000/v1", price: free}
  - {family: pretend, provider: simulated, name: pretend, price: free, simulated: {accuracy: 0.5, latencySeconds: 1}}
rates: {L4: 0.43, CPU: 0.0075}
console: {mouse: false}
"""


def told(text: str) -> list[tuple[int, int, str, str]]:
    with pytest.raises(NodusError) as caught:
        load_configuration("config.yaml", text.encode())
    assert caught.value.code is ErrorCode.CONFIGURATION
    assert "config.yaml" in caught.value.detail
    return [(fault.line, fault.column, fault.path, fault.message) for fault in caught.value.faults]


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "---\n", "{}", "null"])
def test_an_empty_file_is_the_defaults(text):
    assert load_configuration("config.yaml", text.encode()) == Configuration()


def test_unquoted_prices_and_rates_are_read_by_their_digits():
    configuration = load_configuration("config.yaml", GOOD.encode())
    price = configuration.models[0].price
    assert isinstance(price, TokenPrice)
    assert (price.input_per_m_tok, price.output_per_m_tok) == (Decimal("0.80"), Decimal("4.00"))
    assert str(configuration.rates["CPU"]) == "0.0075"
    assert str(price.input_per_m_tok) == "0.80"
    assert configuration.models[1].price == "free"
    assert configuration.models[1].base_url == "http://127.0.0.1:8000/v1"
    assert configuration.console.mouse is False
    assert configuration.console.theme == Configuration().console.theme


def test_all_faults_come_at_once():
    text = """\
models:
  - {family: Haiku, provider: antropic, name: "", maxTries: 0}
  - {family: own, provider: openai, name: x, price: fre, simulated: {}}
  - {family: own, provider: openai, name: x, price: {inputPerMTok: -1, outputPerMtok: 1}, timeout: 5}
rate: {}
console: {mouse: on}
"""
    assert told(text) == [
        *[(2, 14, "models[0].family", told(text)[0][3])],
        (2, 31, "models[0].provider", 'provider is "antropic"; it must be anthropic, openai or simulated'),
        (2, 47, "models[0].name", "name is empty; it needs some text"),
        (2, 61, "models[0].maxTries", "maxTries is 0; it must be 1 to 20"),
        (3, 53, "models[1].price", 'price is "fre"; it must be free or a mapping of fields'),
        (3, 69, "models[1].simulated", "`simulated` belongs to provider simulated only"),
        (
            *(4, 68, "models[2].price.inputPerMTok"),
            '"-1" is not an amount in US dollars: write digits and at most one point, such as "0.10"',
        ),
        (4, 72, "models[2].price.outputPerMtok", 'models[2].price has no field "outputPerMtok"'),
        (4, 100, "models[2].timeout", "timeout is 5; a duration is a whole number with its unit, such as 90s, 10m or 24h"),
        (5, 1, "rate", 'a document has no field "rate"'),
        (6, 18, "console.mouse", 'mouse is "on"; it must be true or false, without quotes'),
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("- a", (1, 1, ""), "a configuration is a mapping of fields, not a list"),
        ("models: []\n---\nmodels: []\n", (3, 1, ""), "a configuration file holds one document; take this one out"),
        ("models: [", (1, 9, ""), "a list is opened with [ here and never closed"),
        ("models: {}", (1, 9, "models"), "models is a mapping of fields; it must be a list"),
        (
            "models: [{family: a, provider: openai, name: x}, {family: a, provider: openai, name: y}]",
            (1, 9, "models"),
            "two entries have the family a",
        ),
        (
            "models: [{family: a, provider: openai, name: x, apiKeyEnv: 'sk-1'}]",
            (1, 60, "models[0].apiKeyEnv"),
            '"sk-1" is no environment variable\'s name: letters, digits and underscores, no digit first',
        ),
        (
            "smtp: {host: localhost, sender: nodus@example.com, username: nodus}",
            (1, 7, "smtp"),
            "`username` and `passwordEnv` go together: both for a login, neither for none",
        ),
        (
            "smtp: {host: localhost, sender: Nodus <nodus@example.com>}",
            (1, 33, "smtp.sender"),
            '"Nodus <nodus@example.com>" is no e-mail address, such as name@example.com',
        ),
    ],
)
def test_one_fault(text, place, message):
    assert told(text) == [(*place, message)]


def test_mounts_are_for_an_image_and_their_sources_are_absolute():
    mount = "mounts: [{source: SOURCE, target: /data}]"
    (alone,) = told(f"evaluate: {{{mount.replace('SOURCE', '/data')}}}\n")
    assert "without one the harness sees the machine's files" in alone[3]
    (relative,) = told(f"evaluate: {{image: lm-eval, {mount.replace('SOURCE', 'data')}}}\n")
    assert relative[3] == "the source of a mount is an absolute path here, and data is none"
    text = f"evaluate: {{image: lm-eval, {mount.replace('SOURCE', '/a')}}}\n"
    (whole,) = load_configuration("config.yaml", text.encode()).evaluate.mounts
    assert (whole.source, whole.target, whole.read_only) == ("/a", "/data", True)
