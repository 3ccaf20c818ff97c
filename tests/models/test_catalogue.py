"""The catalogue: which model a family is, or the sentence that says why it cannot be used. No key is in anything it says."""

import pickle
import subprocess
import sys

import pytest

from local_backend.models.catalogue import CatalogueProblem, ModelCatalogue
from nodus_tui.contract.configuration import Configuration
from nodus_tui.contract.errors import ErrorCode
from nodus_tui.values import fields_of

KEY = "sk-ant-9d1f0c55aa3be7"


def catalogue(*models: dict[str, object], **environ: str) -> ModelCatalogue:
    return ModelCatalogue(Configuration.model_validate({"models": list(models)}), environ)


LOCAL = {"family": "local", "provider": "openai", "name": "m", "baseURL": "http://127.0.0.1:8000/v1", "price": "free"}


class TestResolve:
    def test_the_first_family_that_is_known(self) -> None:
        assert catalogue(LOCAL).resolve(["nothing-like-it", "local", "haiku"]).family == "local"

    def test_a_built_in_family(self) -> None:
        model = catalogue(ANTHROPIC_API_KEY=KEY).resolve(["haiku"])
        assert (model.provider, model.name, model.base_url) == ("anthropic", "claude-haiku-5-5", "https://api.anthropic.com")
        assert model.api_key_env == "ANTHROPIC_API_KEY"
        assert model.price.source.startswith("genai-prices ")
        assert not model.simulated
        assert not model.notional

    def test_the_configuration_replaces_a_built_in_family(self) -> None:
        model = catalogue(LOCAL | {"family": "haiku"}).resolve(["haiku"])
        assert (model.name, model.price.source, model.api_key_env) == ("m", "free (your configuration)", None)

    def test_limits_come_from_the_entry(self) -> None:
        model = catalogue(LOCAL | {"timeout": "90s", "maxTries": 3, "maxConcurrency": 7}).resolve(["local"])
        assert (model.timeout.total_seconds(), model.max_tries, model.max_concurrency) == (90, 3, 7)

    def test_a_simulated_model_needs_nothing_and_says_what_it_is(self) -> None:
        model = catalogue({"family": "sim", "provider": "simulated", "name": "s"}).resolve(["sim"])
        assert (model.simulated, model.price.source, model.price.free, model.notional) == (True, "simulated", True, False)

    def test_a_price_on_a_simulated_model_is_notional(self) -> None:
        priced = {"family": "sim", "provider": "simulated", "name": "s", "price": {"inputPerMTok": "1", "outputPerMTok": "2"}}
        model = catalogue(priced).resolve(["sim"])
        assert model.notional
        assert model.price.source == "notional (your configuration)"

    def test_the_price_of_a_model_that_every_catalogue_has_is_none_of_the_configurations(self) -> None:
        model = catalogue(LOCAL).resolve(["simulated"])
        assert (model.notional, model.price.source) == (True, "notional (built in)")

    def test_the_same_answer_each_time(self) -> None:
        known = catalogue(LOCAL)
        assert known.resolve(["local"]) is known.resolve(["local"])

    def test_configured_prices_do_not_load_the_price_database(self) -> None:
        code = (
            "import sys\n"
            "from local_backend.models.calls import ModelClient\n"
            "from local_backend.models.catalogue import ModelCatalogue\n"
            "from nodus_tui.contract.configuration import Configuration\n"
            f"known = ModelCatalogue(Configuration.model_validate({{'models': [{LOCAL!r}]}}), {{}})\n"
            "known.resolve(['local']), known.facts(), ModelClient(known)\n"
            "print([name for name in ('genai_prices', 'aiohttp', 'xllamacpp') if name in sys.modules])\n"
        )
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


class TestKeys:
    def test_the_key_goes_to_the_provider_alone(self) -> None:
        known = catalogue(LOCAL, ANTHROPIC_API_KEY=f" {KEY}\n")
        model = known.resolve(["haiku"])
        assert known.key_of(model) == KEY
        assert known.key_of(known.resolve(["local"])) is None
        for shown in (repr(known), repr(model), str(fields_of(model)), repr(known.facts()), pickle.dumps(model).decode("latin-1")):
            assert KEY not in shown

    def test_a_public_key_is_not_sent_to_another_address(self) -> None:
        known = catalogue(LOCAL | {"provider": "anthropic"}, ANTHROPIC_API_KEY=KEY, OPENAI_API_KEY=KEY)
        assert known.resolve(["local"]).api_key_env is None

    @pytest.mark.parametrize("url", ["https://api.anthropic.com", "https://api.anthropic.com/v1/", "https://API.anthropic.com"])
    def test_the_public_address_may_be_written_out(self, url: str) -> None:
        known = catalogue({"family": "c", "provider": "anthropic", "name": "claude-opus-5-5", "baseURL": url}, ANTHROPIC_API_KEY=KEY)
        assert known.key_of(known.resolve(["c"])) == KEY

    def test_an_unencrypted_public_address_gets_no_key(self) -> None:
        entry = {"family": "c", "provider": "anthropic", "name": "m", "baseURL": "http://api.anthropic.com", "price": "free"}
        assert catalogue(entry, ANTHROPIC_API_KEY=KEY).resolve(["c"]).api_key_env is None


def problem(known: ModelCatalogue, *families: str) -> CatalogueProblem:
    with pytest.raises(CatalogueProblem) as caught:
        known.resolve(families)
    assert caught.value.code is ErrorCode.CONFIGURATION
    return caught.value


class TestRefusals:
    def test_an_unknown_family_names_the_nearest(self) -> None:
        said = problem(catalogue(LOCAL), "hiaku")
        assert said.suggestion == "haiku"
        assert 'no model family "hiaku"' in said.detail
        assert "it knows local, haiku, sonnet" in said.detail

    def test_several_unknown_families(self) -> None:
        said = problem(catalogue(), "zzz", "sonet")
        assert 'none of the model families "zzz", "sonet"' in said.detail
        assert said.suggestion == "sonnet"

    def test_a_missing_key_names_its_variable(self) -> None:
        assert "ANTHROPIC_API_KEY, which is not set" in problem(catalogue(), "haiku").detail
        assert "OPENAI_API_KEY" in problem(catalogue(OPENAI_API_KEY="  "), "gpt-sol").detail
        assert "MY_KEY" in problem(catalogue(LOCAL | {"apiKeyEnv": "MY_KEY"}), "local").detail

    @pytest.mark.parametrize("key", ["sk-line\r\nx-evil: 1", "sk-ключ-secret", "sk two words"])
    def test_a_key_that_is_none_is_refused_without_showing_it(self, key: str) -> None:
        said = problem(catalogue(ANTHROPIC_API_KEY=key), "haiku")
        assert "ANTHROPIC_API_KEY" in said.detail
        assert "sk" not in said.detail.replace("asks", "")

    def test_an_unknown_price_is_refused_never_free(self) -> None:
        unpriced = {name: value for name, value in LOCAL.items() if name != "price"}
        detail = problem(catalogue(unpriced), "local").detail
        assert "its price is unknown" in detail
        assert "inputPerMTok" in detail
        assert "`price: free`" in detail

    @pytest.mark.parametrize(
        ("url", "part"),
        [
            ("ftp://x/v1", "no http or https URL"),
            ("127.0.0.1:8000/v1", "no http or https URL"),
            ("http:///v1", "no http or https URL"),
            ("http://user:hunter2@x/v1", "user name or password"),
            ("http://x/v1?key=hunter2", "after ? or #"),
            ("http://x:99999/v1", "is no URL"),
            ("http://[::1/v1", "is no URL"),
            ("http://x/v 1", "white space"),
        ],
    )
    def test_a_base_url_that_cannot_be_used(self, url: str, part: str) -> None:
        known = catalogue(LOCAL | {"baseURL": url})
        detail = problem(known, "local").detail
        assert part in detail
        assert "hunter2" not in detail
        assert "hunter2" not in repr(known.facts())


class TestFacts:
    def test_every_family_with_its_problem(self) -> None:
        facts = {fact.family: fact for fact in catalogue(LOCAL, ANTHROPIC_API_KEY=KEY).facts()}
        assert facts["local"].usable
        assert (facts["local"].price, facts["local"].price_source) == ("free", "free (your configuration)")
        assert facts["haiku"].usable
        assert " in, " in facts["haiku"].price
        assert not facts["gpt-sol"].usable
        assert "OPENAI_API_KEY" in facts["gpt-sol"].problem
        assert KEY not in repr(facts)
