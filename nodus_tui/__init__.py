"""nodus-tui: the console for agent eval campaigns, and the contract that its backends speak."""

__version__ = "0.1.0"
