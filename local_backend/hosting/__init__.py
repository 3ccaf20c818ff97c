"""Working outside the process that asks: the detached scheduler of a workspace, its places, and the API on TCP."""
