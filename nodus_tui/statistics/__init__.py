"""Pure statistics of evals: pass rates with their errors, and planning. Imports the contract only; no I/O, no clock."""
