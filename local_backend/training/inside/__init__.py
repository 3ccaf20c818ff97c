"""What runs with the harness's own Python: nothing of this program is there, and no other module of this folder's parents is imported."""
