"""What a console and a backend say to each other: resources, actions, events, errors, and the Backend protocol.

This room imports nothing else of the project, does no I/O beyond parsing text that it is given, and reads no clock.
"""
