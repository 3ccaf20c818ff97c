"""A beginning for each kind: the fields that it needs and those that most people set. Each is valid as it stands. Pure."""

from nodus_tui.authoring.outline import Outline

TEMPLATES: dict[str, str] = {
    "Agent": """\
apiVersion: nodus.dev/v1
kind: Agent
metadata:
  name: my-agent
spec:
  system: Answer the question with one number.
  model:
    families: [simulated]
    maxTokens: 1024
  perRunMaxCostUSD: "0.10"
  # tools: [bash, read, write, edit, submit]
""",
    "AgentGroup": """\
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata:
  name: my-group
spec:
  agent: my-agent
  maxActive: 10
  # tasks × repetitions × the run's cap gives every case room to start.
  maxCostUSD: "2.00"
  evaluation:
    environment: nodus/arithmetic-v2@2.0.0
    split: test
    tasks: 20
    repetitions: 1
    seed: 0
    timeout: 30m
""",
    "Environment": """\
apiVersion: nodus.dev/v1
kind: Environment
metadata:
  name: my-environment
spec:
  version: "1.0.0"
  description: What its tasks are
  # A file of tasks beside this one, one JSON object a line.
  file: tasks.jsonl
  grader:
    type: numeric
""",
    "Sandbox": """\
apiVersion: nodus.dev/v1
kind: Sandbox
metadata:
  name: my-sandbox
spec:
  cpus: 1
  memoryGiB: 1
  diskGiB: 1
  network: false
  idleTimeout: 10m
  maxLifetime: 8h
  maxCostUSD: "0.50"
""",
    "Job": """\
apiVersion: nodus.dev/v1
kind: Job
metadata:
  name: my-job
spec:
  command: [sh, -c, echo done > result.txt]
  outputs: [result.txt]
  maxCostUSD: "0.10"
  timeout: 30m
""",
    "Sweep": """\
apiVersion: nodus.dev/v1
kind: Sweep
metadata:
  name: my-sweep
spec:
  maxCostUSD: "0.40"
  maxParallel: 2
  template:
    kind: Job
    spec:
      command: [sh, -c, echo "$RATE" > result.txt]
      outputs: [result.txt]
      maxCostUSD: "0.10"
  matrix:
    parameters:
      RATE: [0.1, 0.01]
""",
    "TrainingJob": """\
apiVersion: nodus.dev/v1beta1
kind: TrainingJob
metadata:
  name: my-benchmark
spec:
  runtime: nodus/evaluate
  model: {uri: "hf://HuggingFaceTB/SmolLM2-1.7B-Instruct"}
  parameters:
    tasks: [arc_easy]
    limit: 100
    seed: 0
  resources: {hardware: [CPU]}
  maxCostUSD: "1.00"
  timeout: 2h
""",
    "Budget": """\
apiVersion: nodus.dev/v1
kind: Budget
metadata:
  name: my-budget
spec:
  limitUSD: "100.00"
  period: Monthly
  action: Block
  thresholds: [50, 80, 100]
""",
}


def with_template(text: str, row: int, kind: str) -> tuple[str, int]:
    """The text with a document of a kind behind the one that a line belongs to, and the line at which it begins."""
    lines = text.split("\n")
    if not text.strip():
        return TEMPLATES[kind], 0
    outline = Outline(lines)
    starts = outline.starts
    index = outline.document_at(row)
    end = starts[index + 1] - 1 if index + 1 < len(starts) else len(lines)
    before = lines[:end]
    while before and not before[-1].strip():
        before.pop()
    new = TEMPLATES[kind].rstrip("\n").split("\n")
    after = lines[end:] if index + 1 < len(starts) else [""]
    if before[-1:] == ["---"]:
        return "\n".join((*before, *new, *after)), len(before)
    return "\n".join((*before, "---", *new, *after)), len(before) + 1
