"""The catalogue and the evaluation that the tests of the Python interface use."""

from typing import Any


def family(name: str, **behaviour: Any) -> dict[str, Any]:
    """A simulated family of the catalogue."""
    price = {"inputPerMTok": "1.00", "outputPerMTok": "5.00", "notional": True}
    return {"family": name, "provider": "simulated", "name": f"simulated-{name}", "price": price, "simulated": behaviour}


MAKE = "mkdir src; printf 'print(42)' > src/answer.py; printf 1 > notes.md"
"""What the agent of family `boxed` does in its sandbox before it answers."""

CONFIGURATION = {
    "models": [
        family("haiku", accuracy=1.0, outputTokens=20, seed=1),
        family("slow", accuracy=1.0, outputTokens=20, latencySeconds=600, seed=1),
        family("boxed", accuracy=1.0, outputTokens=20, script=[{"tools": [{"name": "bash", "arguments": {"command": MAKE}}]}]),
        family("broken", failures=1.0, outputTokens=20, seed=1),
    ],
    "minFreeDiskMiB": 0,
}

EVALUATION = {"environment": "nodus/arithmetic-v2@2.0.0", "split": "test", "tasks": 2, "repetitions": 1, "seed": 42, "timeout": "10m"}
