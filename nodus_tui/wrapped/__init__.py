"""Backends around another backend, which narrow or write down what passes through them. They know the contract only."""
