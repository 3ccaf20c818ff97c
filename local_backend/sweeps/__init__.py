"""Sweeps: one template over a matrix, whose cells are real groups and jobs, under one shared cap (docs/sweeps.md)."""
