"""All kinds by name, and the apiVersion that each has."""

from nodus_tui.contract.resources.agent import Agent
from nodus_tui.contract.resources.agent_group import AgentGroup
from nodus_tui.contract.resources.agent_run import AgentRun
from nodus_tui.contract.resources.budget import Budget
from nodus_tui.contract.resources.environment import Environment
from nodus_tui.contract.resources.job import Job
from nodus_tui.contract.resources.meta import Resource
from nodus_tui.contract.resources.sandbox import Sandbox
from nodus_tui.contract.resources.sweep import Sweep
from nodus_tui.contract.resources.training_job import TrainingJob

KINDS: dict[str, type[Resource]] = {
    kind.__name__: kind for kind in (Agent, AgentRun, AgentGroup, Environment, Budget, Sandbox, Sweep, Job, TrainingJob)
}
"""The resource class of each kind."""

API_VERSIONS: dict[str, str] = {name: str(kind.model_fields["api_version"].default) for name, kind in KINDS.items()}
"""The apiVersion that a document of each kind names."""
