import sys

numbers = [float(line) for line in sys.stdin]
print(f"{sum(numbers) / len(numbers):.2f}")
