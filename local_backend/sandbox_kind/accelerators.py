"""Which hardware boxes can be given: the one place that says so."""

from nodus_tui.contract.resources.sandbox import SandboxSpec


def refused_hardware(spec: SandboxSpec) -> str:
    """Why this version cannot give a Sandbox its hardware, as a sentence without its subject; empty where it can."""
    if spec.hardware == "CPU" and not spec.accelerators:
        return ""
    wanted = spec.hardware if spec.hardware != "CPU" else f"{spec.accelerators} accelerators"
    return f"this version gives no accelerators to sandboxes of this kind, and it asks for {wanted}"
