"""Sandboxes: one contract, several engines. It knows no runs, no money and no graders."""
