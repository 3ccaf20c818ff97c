#!/bin/bash
cat > /app/mean.py <<'PYTHON'
import sys

numbers = [float(line) for line in sys.stdin if line.strip()]
print(f"{sum(numbers) / len(numbers):.2f}" if numbers else "none")
PYTHON
