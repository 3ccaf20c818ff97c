"""The bubblewrap engine: sandboxes without a container engine."""
