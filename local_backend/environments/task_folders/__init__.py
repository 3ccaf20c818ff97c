"""Task folders in the layouts of Harbor and Terminal-Bench. They hold tests and solutions: for the grader's process only."""
