"""The Docker engine: sandboxes as containers of an engine that speaks Docker's API. It knows the sandbox contract, nothing above it."""
