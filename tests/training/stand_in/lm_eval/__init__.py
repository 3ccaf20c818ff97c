"""A STAND-IN for lm-evaluation-harness: the same command line, the same bars, the same shape of what it writes, and no model.

It takes a second instead of twelve. `stand-in.json` in the model's folder says how it behaves. The real one is in test_real_harness.py.
"""
