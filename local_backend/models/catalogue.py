"""The model catalogue: from the families that an agent may use to one model with its endpoint, price and limits, or a sentence why not.

It reads the configuration and the environment that it is given, and nothing else. Keys stay in it: what it hands out names the variable.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from local_backend.models.default_families import DEFAULT_FAMILIES
from local_backend.models.endpoints import checked_base_url, is_public, public_key_variable, public_url
from local_backend.models.price_database import PriceUnknownError, database_price
from local_backend.models.prices import ResolvedPrice, configured_price, free_price
from nodus_tui.contract.configuration import SimulatedBehaviour
from nodus_tui.contract.errors import ErrorCode, NodusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nodus_tui.contract.backend_info import ModelFact
    from nodus_tui.contract.configuration import Configuration, ModelEntry


class CatalogueProblem(NodusError):  # noqa: N818 - it is told as a problem of the catalogue, in the contract's own words
    """A family that cannot be used; the detail says why and what to do."""

    def __init__(self, family: str, detail: str, suggestion: str = "", *, missing_key: str = "") -> None:
        super().__init__(ErrorCode.CONFIGURATION, detail)
        self.family = family
        self.suggestion = suggestion
        """The nearest known family, when the one asked for is not known."""
        self.missing_key = missing_key
        """The environment variable that is not set, when that is all."""


class ResolvedModel(Struct, frozen=True):
    """One model, ready to be called and priced. It holds the name of the key's variable, never the key."""

    family: str
    provider: str
    """`anthropic`, `openai` or `simulated`."""
    name: str
    base_url: str
    """Empty for a simulated one."""
    api_key_env: str | None
    price: ResolvedPrice
    timeout: timedelta
    max_tries: int
    max_concurrency: int
    behaviour: SimulatedBehaviour | None = None
    served_by: str = ""
    """The job of this workspace that serves it; empty for a model of the catalogue."""

    @property
    def simulated(self) -> bool:
        """Whether no model answers at all."""
        return self.provider == "simulated"

    @property
    def notional(self) -> bool:
        """Whether the price is made up."""
        return self.price.notional


class Served(Protocol):
    """A family that a job serves; `ServedFamily` is one."""

    def resolved(self) -> ResolvedModel:
        """The model. Raises CatalogueProblem where nobody serves it any more."""
        ...


def _now() -> datetime:
    return datetime.now(UTC)


class ModelCatalogue:
    """The families of the configuration file and, for names it does not use, the built-in ones."""

    def __init__(self, configuration: Configuration, environ: Mapping[str, str], *, clock: Callable[[], datetime] = _now) -> None:
        own = {entry.family: entry for entry in configuration.models}
        built_in = {entry.family: entry for entry in DEFAULT_FAMILIES}
        self._entries = own | {family: entry for family, entry in built_in.items() if family not in own}
        self._environ = environ
        self._clock = clock
        self._resolved: dict[str, ResolvedModel] = {}

    @property
    def families(self) -> tuple[str, ...]:
        """All families, the configuration's first."""
        return tuple(self._entries)

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment that keys and proxies are read from."""
        return self._environ

    def resolve(self, families: Sequence[str], served: Mapping[str, Served] | None = None) -> ResolvedModel:
        """The first of these families that the catalogue has, or a job serves.

        Raises CatalogueProblem when there is none, or when that one is not usable.
        """
        served = served or {}
        for family in families:
            if family in self._entries:
                if family not in self._resolved:
                    self._resolved[family] = self._resolve(self._entries[family])
                return self._resolved[family]
            if family in served:
                return served[family].resolved()
        raise self._unknown(families, served)

    def key_of(self, model: ResolvedModel) -> str | None:
        """The key that goes with the model's requests; None when none is needed. Never show, log or store it."""
        if model.api_key_env is None:
            return None
        key = self._environ.get(model.api_key_env, "").strip()
        return key or None

    def facts(self) -> tuple[ModelFact, ...]:
        """What people need to see of each family, unusable ones included."""
        return tuple(self._fact(entry) for entry in self._entries.values())

    def _fact(self, entry: ModelEntry) -> ModelFact:
        from nodus_tui.contract.backend_info import ModelFact  # noqa: PLC0415 - for lists of them

        common = {"family": entry.family, "provider": entry.provider, "name": entry.name, "simulated": entry.provider == "simulated"}
        try:
            model = self.resolve((entry.family,))
        except CatalogueProblem as problem:
            shown = "from the price database" if entry.price is None else "as configured"
            why = {"problem": problem.detail, "missing_key": problem.missing_key}
            return ModelFact(**common, base_url=_shown_base_url(entry), price=shown, usable=False, **why)
        return ModelFact(
            **common, base_url=model.base_url, price=model.price.words(), price_source=model.price.source, usable=True, problem=""
        )

    def _resolve(self, entry: ModelEntry) -> ResolvedModel:
        base_url = self._base_url(entry)
        key_variable = self._key_variable(entry)
        return ResolvedModel(
            family=entry.family,
            provider=entry.provider,
            name=entry.name,
            base_url=base_url,
            api_key_env=key_variable,
            price=self._price(entry),
            timeout=entry.timeout,
            max_tries=entry.max_tries,
            max_concurrency=entry.max_concurrency,
            behaviour=(entry.simulated or SimulatedBehaviour()) if entry.provider == "simulated" else None,
        )

    def _base_url(self, entry: ModelEntry) -> str:
        if entry.provider == "simulated":
            return ""
        if entry.base_url is None:
            return public_url(entry.provider)
        try:
            return checked_base_url(entry.base_url)
        except ValueError as error:
            raise CatalogueProblem(
                entry.family, f'the baseURL of family "{entry.family}" cannot be used: {error}; change it in the configuration file'
            ) from None

    def _key_variable(self, entry: ModelEntry) -> str | None:
        """The variable whose key goes with the requests, after a check that it holds one.

        The key of a public endpoint is sent nowhere else: an entry with its own base URL gets a key only when it names the variable.
        """
        if entry.provider == "simulated":
            return None
        variable = entry.api_key_env
        if variable is None and is_public(entry.provider, entry.base_url):
            variable = public_key_variable(entry.provider)
        if variable is None:
            return None
        key = self._environ.get(variable, "").strip()
        if not key:
            raise CatalogueProblem(
                entry.family,
                f'family "{entry.family}" needs the environment variable {variable}, which is not set: set it to your key for '
                f'"{entry.name}", or choose another family in spec.model.families',
                missing_key=variable,
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise CatalogueProblem(
                entry.family,
                f'the environment variable {variable} of family "{entry.family}" holds characters that no key has '
                "(white space inside, or something outside ASCII): copy the key again",
            )
        return variable

    def _price(self, entry: ModelEntry) -> ResolvedPrice:
        simulated = entry.provider == "simulated"
        if entry.price == "free":
            return free_price("free (your configuration)")
        if entry.price is not None:
            return configured_price(entry.price, notional=entry.price.notional or simulated, built_in=entry in DEFAULT_FAMILIES)
        if simulated:
            return free_price("simulated")
        try:
            own_address = None if is_public(entry.provider, entry.base_url) else entry.base_url
            return database_price(entry.name, provider=entry.provider, base_url=own_address, now=self._clock())
        except PriceUnknownError as unknown:
            raise CatalogueProblem(
                entry.family,
                f'family "{entry.family}" is refused because its price is unknown: {unknown}; give its entry in the configuration file a '
                "`price:` with inputPerMTok and outputPerMTok in US dollars a million tokens, or `price: free` if nobody pays for it",
            ) from None

    def _unknown(self, families: Sequence[str], served: Iterable[str] = ()) -> CatalogueProblem:
        known = [*self._entries, *served]
        near = next((match for family in families for match in get_close_matches(family, known, n=1, cutoff=0.6)), "")
        asked = ", ".join(f'"{family}"' for family in families)
        which = f"no model family {asked}" if len(families) == 1 else f"none of the model families {asked}"
        return CatalogueProblem(
            families[0] if families else "",
            f"the model catalogue has {which}; it knows {', '.join(known)}. Add an entry under `models:` of the configuration file "
            "to have another, or apply a Job that serves it",
            near,
        )


def _shown_base_url(entry: ModelEntry) -> str:
    """The base URL of an entry that cannot be used, shown only where it cannot hold a password."""
    if entry.base_url is None:
        return ""
    try:
        return checked_base_url(entry.base_url)
    except ValueError:
        return ""
