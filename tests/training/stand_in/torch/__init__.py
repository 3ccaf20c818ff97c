"""STAND-IN for torch: nothing but its launcher."""
