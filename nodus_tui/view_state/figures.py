"""Figures as people read them: money, ages, clock times, counts, bars. Nothing here rounds a small non-zero amount to zero."""

from datetime import datetime, timedelta
from decimal import Decimal

from nodus_tui.contract.money import display_usd
from nodus_tui.view_state.cells import Line, Span, Tone, line, muted

_EIGHTHS = " ▏▎▍▍▋▊▉█"
"""The half is left out: it marks the selected row, and a sign has one meaning in a row."""
NOTHING = muted("–")
"""A figure that does not exist (yet): a value like any other."""


_SMALL_USD = Decimal("0.0001")


def short_usd(amount: Decimal) -> str:
    """A sum on the screen: below a hundredth of a cent only that it is. `describe` and `-o json` tell it exactly; caps and limits are told
    in full wherever they stand.
    """
    return f"<{display_usd(_SMALL_USD)}" if 0 < amount < _SMALL_USD else display_usd(amount)


def reward_text(reward: float) -> str:
    """A reward, or the mean of some, in the same digits wherever it stands: `0.63`, `0.667`."""
    return f"{reward:.3g}"


def shorter_reward_texts(reward: float) -> tuple[str, ...]:
    """The same in fewer digits, for where it does not fit: `-0.067` for -0.0667."""
    return f"{reward:.2g}", f"{reward:.1g}"


def span_text(seconds: float) -> str:
    """A span of time in its two largest units: `8s`, `3m`, `1h05m`, `2d03h`. Coarse above a minute, so that it rarely changes."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02d}h" if days < 100 else f"{days}d"


def coarse_span_text(seconds: float) -> str:
    """A span of time in its largest unit alone, for where two do not fit: `3m`, `10h`, `2d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return span_text(seconds)


def forecast_text(seconds: float) -> str:
    """A forecast, marked as one, in steps that its accuracy bears: ten seconds below a minute."""
    return f"~{span_text(max(10, round(seconds / 10) * 10) if seconds < 55 else max(60, seconds))}"


def exact_span_text(seconds: float) -> str:
    """A span that has ended, rounded to the tenth of a second below a minute and the second above: `0.4s`, `4m05s`, `1h02m`."""
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else span_text(whole)


_GOING_STEP = 10


def column_span_text(seconds: float, *, going: bool = False) -> str:
    """A span in a column, which is read beside others: `18s`, `4m05s`, `1h02m`. One that grows does so in steps of ten seconds from a
    minute on, so that its row is not painted each second.
    """
    if 0 < seconds < 1:
        return "<1s"
    whole = int(seconds) if going else round(seconds)
    if going and whole >= 60:
        whole -= whole % _GOING_STEP
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02d}s" if 1 <= minutes < 60 else span_text(whole)


def age_text(since: datetime, now: datetime) -> str:
    """How long ago something was."""
    return span_text((now - since).total_seconds())


_YEAR_IS_CLEAR = timedelta(days=300)
"""A day that is no farther away is of the nearest year with such a day."""


def clock_text(moment: datetime, now: datetime, *, seconds: bool = True) -> str:
    """A moment on the wall clock of `now`'s zone; with the date when it is another day, and the date alone where its year is not clear."""
    local = moment.astimezone(now.tzinfo)
    if abs(moment - now) > _YEAR_IS_CLEAR:
        return f"{local:%d %b} {local.year}"
    if local.date() != now.date():
        return f"{local:%d %b %H:%M}"
    return f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"


def count_text(count: int) -> str:
    """A count in at most four cells, up to 999G: `950`, `1.2k`, `34k`, `1.2M`."""
    if count < 1000:
        return str(count)
    for unit, size in (("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)):
        # What would be rounded up to a thousand of a unit is one of the next.
        if 2 * count < size * 1999 or unit == "G":
            scaled = Decimal(count) / size
            return f"{scaled:.1f}{unit}" if scaled < Decimal("9.95") else f"{scaled:.0f}{unit}"
    raise AssertionError("every count has a unit")


def percent_text(fraction: float, digits: int = 1) -> str:
    """A fraction in percent."""
    return f"{100 * fraction:.{digits}f}%"


def share(part: Decimal | int, whole: Decimal | int) -> float:
    """The part of the whole within 0 and 1; nothing of nothing is 0. For the length of bars only."""
    if whole <= 0:
        return 0.0
    return float(min(Decimal(1), max(Decimal(0), Decimal(part) / Decimal(whole))))


def bar(fraction: float, width: int, tone: Tone = Tone.INFO) -> Line:
    """A bar of `width` cells in eighths of a cell. Anything above zero shows, and only the whole fills it."""
    eighths = round(fraction * width * 8)
    if fraction > 0:
        eighths = max(1, eighths)
    if fraction < 1:
        eighths = min(width * 8 - 1, eighths)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (_EIGHTHS[part] if part else "")
    return line(Span(filled, tone), Span("░" * (width - len(filled)), Tone.TRACK))


def segments(parts: tuple[tuple[int, Tone, str], ...], width: int) -> Line:
    """A bar of `width` cells split by counts (count, tone, glyph): largest remainders, and every count above zero gets a cell."""
    total = sum(count for count, _, _ in parts)
    if total <= 0 or width <= 0:
        return line(Span("░" * max(0, width), Tone.TRACK))
    cells = [count * width // total for count, _, _ in parts]
    by_remainder = sorted(range(len(parts)), key=lambda index: parts[index][0] * width % total, reverse=True)
    for index in by_remainder[: width - sum(cells)]:
        cells[index] += 1
    for index, (count, _, _) in enumerate(parts):
        if count > 0 and cells[index] == 0:
            largest = max(range(len(parts)), key=lambda place: cells[place])
            if cells[largest] > 1:
                cells[largest] -= 1
                cells[index] = 1
    return line(*(Span(glyph * number, tone) for (_, tone, glyph), number in zip(parts, cells, strict=True)))


def seconds_between(start: datetime, end: datetime) -> float:
    """From start to end, never below zero."""
    return max(0.0, (end - start) / timedelta(seconds=1))
