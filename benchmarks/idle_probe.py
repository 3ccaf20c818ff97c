"""A process that has nothing to do: how late it comes back from its sleep is what the machine itself costs everybody at that moment.

It answers each line of its standard input with one line: a JSON list, in milliseconds, of how late it was since the last time.
"""

import json
import os
import select

from arrivals import now_ns

_SLEEP_SECONDS = 0.01
_LARGEST_ORDER = 65536


def main() -> None:
    """Sample until standard input ends."""
    late: list[float] = []
    while True:
        before = now_ns()
        asked, _, _ = select.select([0], [], [], _SLEEP_SECONDS)
        late.append(max(0.0, (now_ns() - before) / 1e6 - 1000 * _SLEEP_SECONDS))
        if asked:
            if not os.read(0, _LARGEST_ORDER):
                return
            print(json.dumps(late), flush=True)
            late.clear()


if __name__ == "__main__":
    main()
