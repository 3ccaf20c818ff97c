"""Which widgets a frame is made of: those with a line in it that changed. It knows Textual's compositor, and nothing of the console.

Textual asks every widget between the first changed line and the last for all its lines, and leaves out of the frame what did not change.
Of a table of which a few cells change, with figures above and below it, that took more time than to draw those cells.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip


def _every_line(_y: int) -> bool:
    return True


class ChangedLines(Compositor):
    """Asks widgets for their part of a frame, from the first line in it to the last."""

    _drawn: Callable[[int], bool] = staticmethod(_every_line)
    """Whether a line of the screen is part of the frame that is being made."""

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        self._drawn = is_rendered_line
        try:
            return super()._render_chops(crop, is_rendered_line)
        finally:
            self._drawn = _every_line

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """Each widget's place, the part of it that is asked for, and the lines of that."""
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip)
            lines = [y for y in seen.line_range if self._drawn(y)] if crop is None or seen.overlaps(crop) else []
            if lines and seen.width:
                part = Region(seen.x, lines[0], seen.width, lines[-1] - lines[0] + 1)
                yield region, part, widget.render_lines(part.translate(-region.offset))
