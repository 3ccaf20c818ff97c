"""The command line. It speaks to a backend through the contract, and imports no part of the full-screen console until one is asked for."""
