"""Applying specs: every document is checked against the others and the workspace, then all are written in one transaction, or none.

It knows the store, the model catalogue and the environments; it starts nothing.
"""
