"""Models that jobs of this workspace serve: their families beside the catalogue's, and the way to one that comes and goes. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from local_backend.models.catalogue import CatalogueProblem, ResolvedModel
from local_backend.models.prices import free_price
from nodus_tui.contract.money import display_usd, usd_from_nano

if TYPE_CHECKING:
    from nodus_tui.contract.backend_info import ModelFact
    from nodus_tui.contract.resources.job import Serving

_CALL_SECONDS = timedelta(minutes=10)
_MAX_TRIES = 6


class ServedFamily(Struct, frozen=True):
    """A family that a job serves, or has served."""

    job: str
    serve: Serving
    base_url: str = ""
    """Where calls go; empty while it is not up."""
    cap: int = 0
    """What the job may cost, in nano-dollars."""
    rate: int = 0
    """Nano-dollars an hour."""
    standing: str = ""
    """The job's phase, for people."""
    ended: bool = False
    """Whether the job has ended: another one may serve the family."""
    problem: str = ""
    """Why it serves nobody any more and what to do, as a sentence; empty while it does, or will when somebody comes."""

    @property
    def model(self) -> str:
        """The model's name in requests."""
        return self.serve.model or self.serve.family

    @property
    def price_source(self) -> str:
        """Why a token costs nothing."""
        return f"free: served by Job {self.job}, whose time is its cost"

    def fact(self) -> ModelFact:
        """What people need to see of it."""
        from nodus_tui.contract.backend_info import ModelFact  # noqa: PLC0415 - for lists of them

        rate = display_usd(usd_from_nano(self.rate))
        return ModelFact(
            family=self.serve.family,
            provider="openai",
            name=self.model,
            base_url=self.base_url,
            price="free",
            price_source=f"{self.price_source}: {rate} an hour while it is up ({self.standing or 'new'})",
            usable=not self.problem,
            problem=self.problem,
        )

    def resolved(self) -> ResolvedModel:
        """The model as calls need it. Raises CatalogueProblem where nobody serves it any more."""
        if self.problem:
            raise CatalogueProblem(self.serve.family, self.problem)
        return self.as_model()

    def as_model(self) -> ResolvedModel:
        """The model, whether or not it can be called now."""
        return ResolvedModel(
            family=self.serve.family,
            provider="openai",
            name=self.model,
            base_url=self.base_url,
            api_key_env=self.serve.api_key_env,
            price=free_price(self.price_source),
            timeout=_CALL_SECONDS,
            max_tries=_MAX_TRIES,
            max_concurrency=self.serve.max_concurrency,
            served_by=self.job,
        )


class Obstacle(Struct, frozen=True):
    """Why a model cannot be called now."""

    message: str
    gone: bool = False
    """Nothing changes that until somebody acts."""


class ModelDoor(Protocol):
    """The way to the model of a group."""

    @property
    def model(self) -> ResolvedModel:
        """The model as it is reached now."""
        ...

    @property
    def obstacle(self) -> Obstacle | None:
        """Why no call may leave now; None where one may."""
        ...

    async def look(self) -> None:
        """After a call that got no answer: find out whether there is an obstacle."""
        ...


class OpenDoor:
    """The door to a model of the catalogue: there is never an obstacle that this machine would know of."""

    obstacle: Obstacle | None = None

    def __init__(self, model: ResolvedModel) -> None:
        self.model = model

    async def look(self) -> None:
        """There is nothing to look at."""
