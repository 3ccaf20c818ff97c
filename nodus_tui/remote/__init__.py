"""Backends in other processes: the client of the HTTP API, and finding or starting the workspace's detached scheduler."""
