"""Screens: each reads view_state, paints it with widgets, and calls the backend through actions."""
