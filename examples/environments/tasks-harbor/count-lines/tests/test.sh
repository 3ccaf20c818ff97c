#!/bin/bash
# Two lines of today.log and two of old/yesterday.log contain it.
if [ "$(tr -d '[:space:]' < /app/count.txt 2>/dev/null)" = "4" ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
