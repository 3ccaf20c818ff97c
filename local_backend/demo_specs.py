"""The texts of the demonstration: its configuration, its specs and its tasks. Pure.

The numbers are chosen so that caps bite. The price is notional: nobody pays it, and it is marked so wherever it shows.
"""

from pydantic import JsonValue

CONFIGURATION = """\
# Written by `nodus-tui demo`; changes are lost.
models:
  - family: simulated
    provider: simulated
    name: simulated-shopkeeper
    price: {{inputPerMTok: "10.00", outputPerMTok: "50.00", notional: true}}
    maxConcurrency: 10
    simulated:
      accuracy: 0.7
      invalid: 0.06
      latencySeconds: {latency}
      latencySpread: 0.6
      outputTokens: 260
      outputSpread: 0.6
      rateLimited: 0.04
      retryAfterSeconds: {pause}
      failures: 0.015
      seed: 7
"""

REAL_CONFIGURATION = """\
  - family: smollm2
    provider: openai
    name: {name}
    baseURL: {url}
    price: {{inputPerMTok: "20.00", outputPerMTok: "50.00", notional: true}}
    maxConcurrency: 4
"""

REAL_SPEC = """\
# A real model on this machine. The price is notional, so that the caps have something to do: a long question might not fit
# the cap of its run, and then that run waits until somebody raises it.
apiVersion: nodus.dev/v1
kind: Agent
metadata:
  name: smollm2-calculator
spec:
  system: You are a calculator. Answer with one number.
  model:
    access: Nodus
    families: [smollm2]
    maxTokens: 48
    temperature: 0
  perRunMaxCostUSD: "0.0074"
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata:
  name: arithmetic-smollm2
  labels: {{purpose: demo}}
spec:
  agent: smollm2-calculator
  maxActive: 4
  maxCostUSD: "0.25"
  evaluation:
    environment: nodus/arithmetic-v2@2.0.0
    split: test
    tasks: {tasks}
    repetitions: 1
    seed: 7
    timeout: 30m
"""

SIMULATED_SPEC = """\
# A simulated model: some runs reach their own cap, the last ones do not fit under the group's, some are rate-limited, some break.
apiVersion: nodus.dev/v1
kind: Environment
metadata:
  name: errands
spec:
  version: "1.0.0"
  description: Shopping sums in one to four messages.
  file: errands.jsonl
  grader:
    type: numeric
---
apiVersion: nodus.dev/v1
kind: Agent
metadata:
  name: shopkeeper
spec:
  system: You keep a shop. Add up what is bought, and answer with the total.
  model:
    access: Nodus
    families: [simulated]
    maxTokens: 420
  perRunMaxCostUSD: "0.06"
---
apiVersion: nodus.dev/v1
kind: AgentGroup
metadata:
  name: every-state
  labels: {{purpose: demo}}
spec:
  agent: shopkeeper
  maxActive: 12
  maxCostUSD: "2.00"
  evaluation:
    environment: errands@1.0.0
    split: test
    tasks: {tasks}
    repetitions: 2
    seed: 7
    timeout: 30m
"""

_GOODS = (("apples", 3), ("loaves", 4), ("candles", 7), ("bulbs", 9), ("ropes", 12), ("maps", 15), ("pots", 18))
"""What the shop sells, and its price in coins."""


def errand_tasks(count: int) -> list[dict[str, JsonValue]]:
    """The tasks with their answers: errands of one to four messages, the same ones each time."""
    tasks: list[dict[str, JsonValue]] = []
    for number in range(count):
        prompts: list[JsonValue] = []
        total = 0
        for step in range(1 + number % 4):
            good, price = _GOODS[(3 * number + 2 * step) % len(_GOODS)]
            pieces = 1 + (number + step) % 6
            total += pieces * price
            prompts.append(f"{'Then I take' if step else 'I take'} {pieces} {good} at {price} coins each. What is my total so far?")
        tasks.append({"id": f"errand-{number:02d}", "prompt": prompts, "answer": str(total)})
    return tasks
