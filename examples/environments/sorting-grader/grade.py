"""Judges a program that sorts numbers: the reward is the share of the cases that come out right."""

import nodus_grading as grading

CASES = [[3, 1, 2], [], [5], [2, 2, 1], [-1, 10, -10], list(range(500, 0, -1))]


def main() -> None:
    wanted = grading.answer()  # `ascending` or `descending`
    right = 0
    for numbers in CASES:
        done = grading.run(["python3", "solution.py"], " ".join(map(str, numbers)))
        expected = sorted(numbers, reverse=wanted == "descending")
        right += done.returncode == 0 and done.text.split() == [str(number) for number in expected]
    grading.verdict(right == len(CASES), right / len(CASES), f"{right} of {len(CASES)} cases")


main()
