"""Commands in Sandboxes as their clients hold them: driven to their end, lent this terminal, used to copy files in."""
