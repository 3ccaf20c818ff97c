"""Writes the share of the cases that come out right."""

import json
import subprocess

CASES = [("1\n2\n", "1.50"), ("7\n", "7.00"), ("", "none"), ("\n\n", "none"), ("3\n\n4\n", "3.50"), ("-1\n1\n", "0.00")]

right = 0
for given, expected in CASES:
    done = subprocess.run(["python3", "/app/mean.py"], input=given, capture_output=True, text=True, timeout=10, check=False)
    right += done.stdout.strip() == expected

with open("/logs/verifier/reward.json", "w", encoding="utf-8") as file:
    json.dump({"reward": right / len(CASES)}, file)
