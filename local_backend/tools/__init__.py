"""Tools: what an agent may do in its sandbox, as definitions for a model (pure) and as calls into the sandbox."""
