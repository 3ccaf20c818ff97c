"""Recordings: what a backend told over a while, in one file, and a backend that tells it again. They know the contract only."""
