"""Budgets: one ceiling over model spend and compute together. The book is pure; the keeper books, tells and acts."""
