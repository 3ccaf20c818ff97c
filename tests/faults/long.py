"""The long form of the fault injection; prints its figures for docs/recovery.md.

usage: python tests/faults/long.py [--instants 200] [--seed N] [--keep FOLDER]
"""

import argparse
import asyncio
import platform
import random
import sys
import tempfile
from pathlib import Path

from kill_campaigns import Figures, KillCampaigns


def report(figures: Figures, seed: int) -> str:
    """The figures as a table."""
    kinds = ", ".join(f"{count} by {why}" for why, count in sorted(figures.kills.items()))
    money = figures.money
    rows = {
        "seed": seed,
        "kills": f"{sum(figures.kills.values())} ({kinds})",
        "campaigns, cases": f"{figures.campaigns}, {figures.cases}",
        "verdicts, each told once": figures.verdicts,
        "events, caps held at each": figures.events,
        "replies that the server billed": figures.replies,
        "transcript turns kept": figures.turns,
        "served": f"${money.served / 10**9:.6f}",
        "recorded": f"${money.recorded / 10**9:.6f}",
        "of it unconfirmed": f"${money.unconfirmed / 10**9:.6f}",
        "time": f"{figures.seconds:.0f} s, Python {platform.python_version()}",
    }
    return "\n".join(f"| {name} | {value} |" for name, value in rows.items())


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description="Kill the scheduler at random instants and check what is left.")
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--keep", type=Path, help="work in this new folder and leave it")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        figures = asyncio.run(KillCampaigns(folder, seed=options.seed).run(options.instants))
    print(report(figures, options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
