"""Sandboxes that people ask for by themselves: their lives, their limits, and the commands in them. In this room one is called a box."""
