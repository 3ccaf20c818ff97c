"""What becomes of a text that is edited: its file on the disk, which others may change, and the draft of what stands in no file.

It knows nothing of what is shown. What is said to read or write the disk is for a thread.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from nodus_tui.authoring.drafts import Draft, DraftPlace, Kept
from nodus_tui.authoring.text_file import ReadText, Stamp, TextFileError, stamp_of


class Keeping:
    """Of the text of one editor."""

    def __init__(self, path: Path, read: ReadText, place: DraftPlace, text: Callable[[], str]) -> None:
        self.path = path
        self.read = read
        """The file as it was read or written last."""
        self.disk: Stamp = read.stamp
        """What the file was when it was last looked at."""
        self.told_disk: Stamp = read.stamp
        """What of it the person knows: it was read, or they kept their own text beside it."""
        self.disk_problem = ""
        """Why what is there now is no file that can be read; empty where it is, and where nothing is there."""
        self.draft_problem = ""
        """Why the draft could not be written when it was last tried."""
        self.shared = place.shared
        """Whether another console had the file open when it was opened here."""
        self._text = text
        self._kept = Kept(place.keep, place.forget, place.leave)

    @property
    def modified(self) -> bool:
        """Whether the text stands in no file: it is another than the one that was read, or that is no longer there."""
        there = self.read.stamp.exists and self.disk.exists and not self.disk_problem
        return self.typed or (not there and bool(self._text()))

    @property
    def typed(self) -> bool:
        """Whether the text is another than the file's, as it was read."""
        return self._text() != self.read.text

    @property
    def changed_outside(self) -> bool:
        """Whether the file is another than the person knows."""
        return self.disk != self.told_disk

    def now_is(self, path: Path, read: ReadText) -> None:
        """The file is this one, and was just read or written."""
        self.path, self.read = path, read
        self.disk = self.told_disk = read.stamp
        self.disk_problem = ""

    def look(self) -> bool:
        """See what the file is now, and give whether that is another thing than before. It reads from the disk."""
        before = (self.disk, self.disk_problem)
        try:
            self.disk, self.disk_problem = stamp_of(self.path), ""
        except TextFileError as error:
            self.disk_problem = str(error).replace(str(self.path), self.path.name)
        return (self.disk, self.disk_problem) != before

    # The draft

    def _draft(self) -> Draft:
        return Draft(self.path, self._text(), self.read.stamp)

    async def keep(self) -> str:
        """Write the draft now; gives why it could not be kept, empty where it was or need not be."""
        draft, modified = self._draft(), self.modified
        self.draft_problem = await asyncio.to_thread(self._kept.settle, draft, modified=modified)
        if modified and not self.modified:
            # It was saved, or taken back, while the draft was written.
            await asyncio.to_thread(self._kept.settle, draft, modified=False)
        return self.draft_problem

    def drop(self) -> None:
        """Have no draft from now on: the editor is about to close, and nothing of it is to be kept. It writes to the disk."""
        self._kept.settle(self._draft(), modified=False, last=True)

    def keep_and_leave(self) -> str:
        """Keep the draft for good, where that is possible: the editor is about to close. It writes to the disk.

        Gives why it could not be kept, empty where it was.
        """
        problem = self._kept.settle(self._draft(), modified=True)
        return problem or self._kept.settle(self._draft(), modified=True, last=True)

    def end(self) -> None:
        """What is not saved is kept: the console may be closed in any way, and the file be gone since it was last looked at."""
        self.look()
        self._kept.settle(self._draft(), modified=self.modified, last=True)
