"""Valid specs of every kind, and short ways to ask the loader for its faults. Used by the tests beside it."""

from collections.abc import Callable

from nodus_tui.contract.errors import Fault, NodusError
from nodus_tui.contract.spec_loading.loader import SpecSource, load_specs

AGENT = """\
apiVersion: nodus.dev/v1
kind: Agent
metadata:
  name: worker
  project: research
  labels: {team: nlp}
spec:
  system: |
    Follow the task's answer format.
  model:
    access: Nodus
    families: [haiku]
    maxTokens: 1024
  perRunMaxCostUSD: "0.10"
"""

GROUP = """\
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata:
  name: sums
spec:
  agent: worker
  maxActive: 10
  maxCostUSD: "10.00"
  evaluation:
    environment: nodus/arithmetic-v2@2.0.0
    split: test
    tasks: 50
    repetitions: 2
    seed: 42
    timeout: 10m
"""

ENVIRONMENT = """\
apiVersion: nodus.dev/v1
kind: Environment
metadata: {name: capitals}
spec:
  version: 1.0.0
  file: tasks.jsonl
  grader: {type: numeric, tolerance: 0.5, answerPattern: 'answer: (\\d+)'}
"""

RUN = """\
apiVersion: nodus.dev/v1
kind: AgentRun
metadata: {name: one}
spec: {agent: worker, prompt: "What is 2 + 2?", maxCostUSD: "0.05"}
"""

BUDGET = """\
apiVersion: nodus.dev/v1
kind: Budget
metadata: {name: research-monthly}
spec:
  limitUSD: "500.00"
  period: Monthly
  scope:
    project: research
    selector:
      matchLabels: {team: nlp}
  action: Block
  thresholds: [50, 80, 100]
  notify:
    emails: [leads@example.com]
"""

SANDBOX = """\
apiVersion: nodus.dev/v1
kind: Sandbox
metadata: {name: bench}
spec: {hardware: L4, idleTimeout: 10m, maxLifetime: 2h, maxCostUSD: "2.00"}
"""

JOB = """\
apiVersion: nodus.dev/v1
kind: Job
metadata: {name: harness}
spec:
  image: harness:1
  command: [run, --all]
  hardware: H100
  accelerators: 1
  env: {WORKERS: "4"}
  mounts: [{source: data, target: /data}]
  outputs: [results]
  maxCostUSD: "20.00"
  timeout: 6h
"""

TRAINING_JOB = """\
apiVersion: nodus.dev/v1beta1
kind: TrainingJob
metadata: {name: my-evaluate}
spec:
  runtime: nodus/evaluate
  mode: Evaluate
  model: {uri: "hf://organisation/name@0123abc"}
  parameters: {tasks: [arc_easy], limit: 200, taskFilter: {family: sums, level: 2}}
  maxCostUSD: "5.00"
"""

SWEEP = """\
apiVersion: nodus.dev/v1
kind: Sweep
metadata: {name: agents-by-shard}
spec:
  maxCostUSD: "40.00"
  maxParallel: 2
  repetitions: 2
  template:
    kind: AgentGroup
    spec:
      agent: worker
      maxCostUSD: "5.00"
      evaluation: {environment: nodus/arithmetic-v2@2.0.0, tasks: 50}
  matrix:
    agents: [worker, thinker]
    shards: 2
"""

EXAMPLES = {
    "Agent": AGENT,
    "AgentRun": RUN,
    "AgentGroup": GROUP,
    "Environment": ENVIRONMENT,
    "Budget": BUDGET,
    "Sandbox": SANDBOX,
    "Sweep": SWEEP,
    "Job": JOB,
    "TrainingJob": TRAINING_JOB,
}


def faults_of(*texts: str | bytes) -> tuple[Fault, ...]:
    """The faults of files with these texts, named `0.yaml`, `1.yaml`, …; none when they load."""
    sources = [SpecSource(f"{number}.yaml", text.encode() if isinstance(text, str) else text) for number, text in enumerate(texts)]
    error = refusal(lambda: load_specs(sources))
    return error.faults if error else ()


def refusal(call: Callable[[], object]) -> NodusError | None:
    """The NodusError with which a call ends, or None when it answers; any other exception passes."""
    try:
        call()
    except NodusError as error:
        return error
    return None


def changed(text: str, old: str, new: str) -> str:
    """The text with one piece of it replaced."""
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the example"
    return text.replace(old, new)
