"""nodus/arithmetic-v2: whole-number arithmetic made from a seed. Pure; the grader's process only, for it knows the answers.

Every problem belongs to one split for ever, by a hash of its text, so that no seed can bring a test problem into training.
"""

import hashlib
from collections.abc import Callable
from fractions import Fraction
from itertools import count as count_from

from msgspec import Struct

from local_backend.environments.hashing import HashStream
from local_backend.environments.names import ARITHMETIC_MOST
from local_backend.environments.number_reading import NumberExpectation
from local_backend.environments.secret_tasks import Judgement, SecretTask, SourceError, judge_stand_in

NAME = "nodus/arithmetic-v2"
VERSION = "2.0.0"
SPLITS = ("train", "test")

_BRIEFLY = "Answer with the number only."
_LAST_LINE = "Finish with a line that reads Answer: followed by the number."
_EASY_TO_HARD = ("easy", "easy", "easy", "medium", "hard")
_RANGES = {"easy": (1, 9), "medium": (10, 99), "hard": (100, 999)}


class Problem(Struct, frozen=True):
    """One problem and its answer."""

    question: str
    answer: int
    instruction: str = _BRIEFLY


Family = Callable[[HashStream, str], Problem]


def _comparison(stream: HashStream, difficulty: str) -> Problem:
    numbers = [stream.between(*_RANGES[difficulty]) for _ in range({"easy": 2, "medium": 3, "hard": 4}[difficulty])]
    word, chosen = stream.choice((("largest", max(numbers)), ("smallest", min(numbers))))
    return Problem(f"Which is the {word} of these numbers: {', '.join(map(str, numbers))}?", chosen)


def _sum(stream: HashStream, difficulty: str) -> Problem:
    terms = [stream.between(*_RANGES[difficulty]) for _ in range(3 if difficulty == "hard" else 2)]
    return Problem(f"What is {' + '.join(map(str, terms))}?", sum(terms))


def _difference(stream: HashStream, difficulty: str) -> Problem:
    low, high = _RANGES[difficulty]
    first, second = stream.between(low, high), stream.between(low, high)
    if difficulty == "easy" and first < second:
        first, second = second, first
    return Problem(f"What is {first} - {second}?", first - second)


def _product(stream: HashStream, difficulty: str) -> Problem:
    first = stream.between(2, 9) if difficulty == "easy" else stream.between(11, 99)
    second = stream.between(11, 99) if difficulty == "hard" else stream.between(2, 9)
    return Problem(f"What is {first} × {second}?", first * second)


def _division(stream: HashStream, difficulty: str) -> Problem:
    divisor = stream.between(2, 9) if difficulty != "hard" else stream.between(11, 49)
    quotient = stream.between(1, 9) if difficulty == "easy" else stream.between(10, 99)
    rest = stream.below(divisor)
    number = divisor * quotient + rest
    if stream.below(2):
        return Problem(f"What is the remainder when {number} is divided by {divisor}?", rest)
    return Problem(f"How many whole times does {divisor} go into {number}?", quotient)


def _expression(stream: HashStream, difficulty: str) -> Problem:
    a, b, c, d = (stream.between(2, 9 if difficulty == "easy" else 20) for _ in range(4))
    if difficulty == "hard":
        text, value = stream.choice(
            (
                (f"({a} + {b}) × ({c} - {d})", (a + b) * (c - d)),
                (f"{a} × ({b} - {c} × {d})", a * (b - c * d)),
                (f"({a} × {b}) - ({c} + {d}) × {a}", a * b - (c + d) * a),
            )
        )
    else:
        text, value = stream.choice(
            (
                (f"({a} + {b}) × {c}", (a + b) * c),
                (f"{a} × ({b} - {c})", a * (b - c)),
                (f"{a} + {b} × {c}", a + b * c),
                (f"({a} - {b}) + {c}", a - b + c),
            )
        )
    return Problem(f"Calculate {text}.", value, _BRIEFLY if difficulty == "easy" else _LAST_LINE)


def _story(stream: HashStream, difficulty: str) -> Problem:
    a, b = (stream.between(2, {"easy": 9, "medium": 20, "hard": 60}[difficulty]) for _ in range(2))
    c = stream.between(1, a)
    e = stream.between(1, a * b)
    text, value = stream.choice(
        (
            (f"A shelf has {a} rows of {b} jars. {e} jars are sold. How many jars are left?", a * b - e),
            (f"A tram starts with {a} people. {b} get on and {c} get off. How many people are on it now?", a + b - c),
            (f"A ticket costs {a} coins and a drink costs {c} coins. How many coins do {b} people pay for one of each?", b * (a + c)),
            (f"{b} crates hold {a} bulbs each, and {c} bulbs in every crate are broken. How many bulbs work?", b * (a - c)),
            (
                f"A tank holds {a * b} litres. {c} litres are taken out and then {b} litres are filled in. How many litres are in it?",
                a * b - c + b,
            ),
            (f"A walker goes {a} km on each of {b} days and {c} km on the day after. How many km is that in all?", a * b + c),
        )
    )
    return Problem(text, value, _BRIEFLY if difficulty == "easy" else _LAST_LINE)


FAMILIES: dict[str, Family] = {
    "sum": _sum,
    "comparison": _comparison,
    "difference": _difference,
    "product": _product,
    "division": _division,
    "expression": _expression,
    "story": _story,
}


def split_of(question: str) -> str:
    """The split that a problem belongs to, whatever the seed: half of all problems each."""
    return SPLITS[hashlib.sha256(question.encode()).digest()[0] & 1]


def task_id(family: str, question: str) -> str:
    """The name of a problem: the same problem has the same name under every seed."""
    return f"{family}-{hashlib.sha256(b'id:' + question.encode()).hexdigest()[:10]}"


class ArithmeticSource:
    """The generator and its grader."""

    def identity(self) -> object:
        """Name, version and what counts as the answer."""
        return [f"{NAME}@{VERSION}", "last number of the last answer line"]

    def draw(self, split: str, seed: int, count: int) -> list[SecretTask]:
        """The families in turn; each slot takes the first problem of its stream that is new and belongs to the split."""
        if split not in SPLITS:
            raise SourceError(f"{NAME} has the splits train and test only")
        if count > ARITHMETIC_MOST:
            raise SourceError(f"{NAME} makes {ARITHMETIC_MOST:,} tasks of a seed at most, and {count:,} were asked for")
        names = tuple(FAMILIES)
        drawn: dict[str, SecretTask] = {}
        for slot in range(count):
            family = names[slot % len(names)]
            task = next(
                found
                for attempt in count_from()
                if (found := _attempt(family, HashStream(f"{NAME}@{VERSION}/{split}/{seed}/{slot}/{attempt}"), split)) is not None
                and found.id not in drawn
            )
            drawn[task.id] = task
        return list(drawn.values())

    def grade(self, task: SecretTask, completion: str) -> Judgement:
        """By the last number."""
        return _expectation(task).judge(completion)

    def grade_stand_in(self, task: SecretTask, *, right: bool) -> Judgement:
        """The right number, or the next one."""
        return judge_stand_in(_expectation(task), right=right)


def _attempt(family: str, stream: HashStream, split: str) -> SecretTask | None:
    difficulty = stream.choice(_EASY_TO_HARD)
    problem = FAMILIES[family](stream, difficulty)
    if split_of(problem.question) != split:
        return None
    return SecretTask(
        id=task_id(family, problem.question),
        prompts=(f"{problem.question} {problem.instruction}",),
        metadata={"family": family, "difficulty": difficulty},
        secret=problem.answer,
    )


def _expectation(task: SecretTask) -> NumberExpectation:
    if not isinstance(task.secret, int):
        raise TypeError("an arithmetic answer is a whole number")
    return NumberExpectation(Fraction(task.secret))
