"""Accelerators given out: to whom, for how long, and what everybody else waits for.

Jobs, the sandboxes of runs and sandboxes on their own ask one desk (`desk.py`), in one order. Who decides is pure (`allocation.py`); what
is here comes from the hardware room; that two workspaces or users of this machine never take the same device is the kernel's to hold
(`machine_claims.py`).
"""
