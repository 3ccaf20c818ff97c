"""Grading in sandboxes: the process that holds the answers, what it puts into a grading sandbox, and how a verdict comes out."""
