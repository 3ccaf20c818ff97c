"""Environments: the catalogue, generators, task files and graders. Answers exist in its worker processes only."""
