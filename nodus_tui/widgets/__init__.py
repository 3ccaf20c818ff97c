"""Widgets that paint lines: they know tones and cells, and nothing of a backend."""
