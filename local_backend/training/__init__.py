"""TrainingJobs of the runtime `nodus/evaluate`: from a spec to a job that runs lm-evaluation-harness, and to its results.

The harness never comes into this program's processes: it is started with a Python of its own.
"""
