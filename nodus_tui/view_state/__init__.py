"""What the screens show, folded from snapshots and events. No terminal, no clock, no I/O: `now` comes in as an argument."""
