"""What the views share: crumbs, body, filter, status line, footer; notices; the message for a terminal that is too small."""

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.events import Resize, ScreenResume
from textual.screen import Screen
from textual.widget import Widget

from nodus_tui.key_gate import WholeFrames
from nodus_tui.screens.copying_text import copy_text
from nodus_tui.screens.room import ROOMY_HEIGHT, small_words, too_small
from nodus_tui.screens.services import Services
from nodus_tui.text import cut_middle, safe_text
from nodus_tui.values import replace
from nodus_tui.view_state.cells import Line, Span, Tone, hint, joined, line, line_width, muted, strong
from nodus_tui.view_state.crumbs import fitting_crumbs
from nodus_tui.view_state.figures import age_text, clock_text
from nodus_tui.view_state.key_actions import Situation, View, action_by_id, every_action_of, key_words, opened_view, refusal
from nodus_tui.view_state.playback_words import playback_line
from nodus_tui.view_state.views import Trait, destination, views_with
from nodus_tui.view_state.words import BY_ITSELF
from nodus_tui.view_state.wrapping import clipped, wrapped
from nodus_tui.widgets.key_bar import NOTHING_SPECIAL, Offer, key_line
from nodus_tui.widgets.line_table import LineTable
from nodus_tui.widgets.span_block import SpanBlock
from nodus_tui.widgets.text_pane import TextPane

if TYPE_CHECKING:
    from nodus_tui.view_state.proposals import Question

NOTICE_SECONDS = 12.0
_MOST_OF_NAME = 20
"""Cells that the name of a place takes in the footer."""
_DIALOG_KEYS = (("Esc", "close"),)
"""What works in a dialog that does not say more of its keys."""

SCREEN_CSS = """
ViewScreen { layout: vertical; background: $background; }
ViewScreen #crumbs { background: $panel; }
ViewScreen #keys { background: $panel; }
ViewScreen #body { height: 1fr; }
ViewScreen #small { display: none; height: 1fr; padding: 1 2; }
ViewScreen.-small #body { display: none; }
ViewScreen.-small > SpanBlock { max-height: 0; }
ViewScreen.-small > #small { max-height: 100%; }
ViewScreen.-small #small { display: block; }
"""


def bindings_of(view: View) -> list[Binding]:
    """Bindings of a view, made from the list of actions. ctrl+c is the application's: it works in dialogs too."""
    return [
        Binding(
            ",".join(key for key in action.keys if key != "ctrl+c"),
            f"do('{action.id}')",
            action.word,
            show=False,
            id=f"{view.value}.{action.id}",
        )
        for action in every_action_of(view)
        if action.keys
    ]


Part = TypeVar("Part", bound=Widget)


class ViewScreen(WholeFrames[None]):
    """A view of the console."""

    VIEW: ClassVar[View]
    AUTO_FOCUS = ""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.services = services
        self._notice: tuple[Line, ...] = ()
        self._notice_lines = 0
        """Lines that the notice may take; 0 for as many as it needs, within reason."""
        self._notices_told = 0
        self._lasting = False
        self._by_itself = False
        """Whether the notice tells what nobody here asked for: no key makes that past."""
        self._keys_for: tuple[int, Offer, Situation] | None = None
        self._keys_line: Line = ()
        self._parts: dict[str, Widget] = {}
        self.stands = False
        """Whether the parts are there: data may come before."""
        self._was_open = False
        """Whether it was on top before."""
        self.first_notice = ""
        """What is to be told as soon as the screen stands."""

    def compose(self) -> ComposeResult:
        """Crumbs, body, status, keys."""
        yield SpanBlock(widget_id="crumbs", keep_height=True)
        with Vertical(id="body"):
            yield from self.body()
        yield SpanBlock(widget_id="small", keep_height=True)
        if self.services.playback() is not None:
            yield SpanBlock(widget_id="playback")
        yield SpanBlock(widget_id="status")
        yield SpanBlock(widget_id="keys", keep_height=True)

    def body(self) -> ComposeResult:
        """What this view has between the crumbs and the status line."""
        raise NotImplementedError

    def show_state(self) -> None:
        """Paint what changed in this view's state."""
        raise NotImplementedError

    def moving(self) -> bool:
        """Whether something shown here changes with the time alone."""
        return False

    def reread(self) -> None:
        """Ask anew for what was asked for once: a recording stands elsewhere now."""

    async def asked_before_leaving(self) -> "Question | None":
        """What is asked before the console is left, where something was typed here and stands nowhere else; None where nothing is."""
        return None

    def came_from(self, screen: "ViewScreen") -> None:
        """It was gone to by its name or key from another view."""

    def let_go(self, *names: str) -> None:
        """These were acted on as the person asked: where they were picked for it, they are no more."""

    def focus_home(self) -> None:
        """Where keys go when nothing else has them."""
        raise NotImplementedError

    def crumbs(self) -> tuple[str, ...]:
        """Where this is."""
        raise NotImplementedError

    def names(self) -> tuple[str, ...]:
        """What this view is of, by the names with which it can be opened again; nothing for a view of all things of a kind."""
        return self.crumbs()[1:2]

    def headline(self) -> Line:
        """What stands at the right of the crumbs."""
        return ()

    def status_parts(self) -> tuple[Line, ...]:
        """What the status line says while there is no notice."""
        return ()

    def offer(self) -> Offer:
        """What the footer says otherwise than the list of actions, as things stand."""
        return NOTHING_SPECIAL

    def subject(self) -> object:
        """What the keys act on now, such as the selected item; None where there is nothing, or more than one thing."""
        return None

    def offered(self) -> Offer:
        """The same as the footer has it: without what would do nothing to the subject as it stands."""
        own, subject = self.offer(), self.subject()
        if goes_back_to := self._other_way_back():
            own = replace(own, words={**dict.fromkeys(("back", "leave_spec"), f"back to {goes_back_to}"), **own.words})
        if subject is None:
            return own
        # Imported here: it knows all kinds, which come with the first row.
        from nodus_tui.view_state.availability import useless  # noqa: PLC0415

        idle = useless(subject)
        return Offer(own.now - idle, own.without | idle, own.words)

    def part(self, name: str, kind: type[Part]) -> Part:
        """A widget of this view by its id, looked up once: while a view is torn down, late data must not miss what is gone already."""
        known = self._parts.get(name)
        if isinstance(known, kind):
            return known
        found = self._parts[name] = self.query_one(f"#{name}", kind)
        return found

    # Painting

    def show(self) -> None:
        """Paint everything that changed."""
        if not self.stands:
            return
        self.show_state()
        self.part("crumbs", SpanBlock).show(self._crumb_lines)
        self.show_keys()
        self.part("status", SpanBlock).show(self._status_lines)
        playback = self.services.playback()
        if playback is not None:
            self.part("playback", SpanBlock).show(lambda width: (playback_line(playback, width),))

    def show_keys(self) -> None:
        """Paint the footer, where it reads otherwise."""
        if self.stands:
            self.part("keys", SpanBlock).show(self._key_lines)

    def _key_lines(self, width: int) -> tuple[Line, ...]:
        """The footer, worked out again only where it may read otherwise; under a dialog its keys, for none of the view's do anything."""
        over = self.app.screen
        if not isinstance(over, ViewScreen):
            keys: tuple[tuple[str, str], ...] = getattr(over, "DIALOG_KEYS", _DIALOG_KEYS)
            return (line(" ", *(span for key, word in keys for span in (Span(key, Tone.KEY), muted(f" {word}  ")))),)
        situation = self.services.situation()
        for_what = (width, self.offered(), replace(situation, viewer=True) if situation.unknown else situation)
        if for_what != self._keys_for:
            self._keys_for = for_what
            self._keys_line = key_line(self.VIEW, *for_what)
        return (self._keys_line,)

    def _crumb_lines(self, width: int) -> tuple[Line, ...]:
        news = self.services.feed.news(self.key("notices"))
        crumbs = self.crumbs()
        *shown, here = fitting_crumbs(crumbs, width - line_width(news) - 1)
        # Who came another way finds something else below than the thing that the last crumb names: then it is no way back.
        below = self._below()
        back = below is not None and below.crumbs() == crumbs[:-1]
        before = zip(crumbs, shown, strict=False)
        ways = (
            span
            for place, (crumb, words) in enumerate(before, start=2)
            for span in (muted(" › "), self._way_to(crumb, words, back=back and place == len(crumbs)))
        )
        left = line(" ", Span("nodus", Tone.TITLE), *ways, muted(" › "), strong(here))
        for right in (joined((news, self.headline())), news):
            space = width - line_width(left) - line_width(right) - 1
            if space > 0:
                return ((*left, Span(" " * space), *right),)
        return (left,)

    def _below(self) -> "ViewScreen | None":
        """The view that this one lies on."""
        screens = [each for each in self.app.screen_stack if isinstance(each, ViewScreen)]
        at = screens.index(self) if self in screens else 0
        return screens[at - 1] if at else None

    def _other_way_back(self) -> str:
        """The place that this view was opened from, where that is none that its crumbs name; empty where Escape goes up along them."""
        below, parents = self._below(), self.crumbs()[:-1]
        if below is None or below.crumbs() == parents[: len(below.crumbs())] or (not parents and below.VIEW in views_with(Trait.FIRST)):
            return ""
        return cut_middle(safe_text(below.crumbs()[-1]), _MOST_OF_NAME)

    def _way_to(self, crumb: str, words: str, *, back: bool) -> Span:
        """A crumb in words that fit; a click on it goes there, where it is a view that can be gone to or the one below this."""
        entry = destination(crumb)
        way = entry.view.value if entry is not None else "back" if back else ""
        return Span(words, Tone.MUTED, f"do('{way}')" if way else "")

    def key(self, action_id: str) -> str:
        """What the person presses for an action, as a sentence names it."""
        return key_words(action_id, self.services.situation())

    def key_offered(self, action_id: str) -> str:
        """The same; empty for what may not be done from there."""
        return "" if refusal(action_by_id(action_id), self.services.situation()) else self.key(action_id)

    def hint(self, action_id: str, words: str = "") -> Line:
        """The key of an action as the person has it, and what it does; a click on it does it. Nothing for who may not do it from there."""
        key = self.key_offered(action_id)
        return hint(key, words, f"do('{action_id}')") if key else ()

    def asked_again(self) -> str:
        """What becomes of what cannot be read. A recording never holds more: of one nothing is said."""
        return "" if self.services.situation().recording else BY_ITSELF

    def unanswered(self) -> tuple[Line, ...]:
        """What stands in place of what is not known, while the backend does not answer: why is told below. Nothing while it answers."""
        link = self.services.link()
        if self.services.feed.connection.state == "lost":
            return (line("The backend does not answer yet."), line(muted("It is asked again by itself; the line below says when.")))
        if link is not None and link.silence:
            return (line("The backend does not answer yet."), line(muted("The line below says why.")))
        return ()

    def _status_lines(self, width: int) -> tuple[Line, ...]:
        told, most = self._status_told()
        recorded = self.services.recorded()
        # These stand whatever else is told: who records, or waits for an answer, must see it at any time.
        standing = (line(Span(f"● {recorded}", Tone.MARK)) if recorded else (), self.services.asked.words(short=bool(told)))
        if not told:
            return ((Span(" "), *joined((*standing, *self.status_parts()))),)
        first, *more = told
        return clipped((line(" ", *each) for each in (joined((*standing, first)), *more)), width - 1, most)

    def _status_told(self) -> tuple[tuple[Line, ...], int]:
        """What is to be told instead of the usual, and in how many lines at most; nothing where all is as usual."""
        connection = self.services.feed.connection
        now = self.services.now()
        if connection.state == "lost":
            again = f" Trying again at {clock_text(connection.next_try, now)}." if connection.next_try else ""
            since = f" since {clock_text(connection.since, now)}" if connection.since else ""
            why = connection.detail[:1].upper() + connection.detail[1:]
            lost = f"! No connection{since}: what you see is old. {why}.{again}"
            return (line(Span(lost, Tone.BAD)),), self.size.height
        link = self.services.link()
        if link is not None and not (link.connected and not link.silence):
            lost = "" if link.connected else f"Reconnecting: data {age_text(link.last_heard, now)} old. "
            silence = f"{link.silence[:1].upper()}{link.silence[1:]}." if link.silence else "The work does not depend on this window."
            return (line(Span(f"! {lost}{safe_text(silence)}", Tone.WARN)),), 4
        most = self._notice_lines or (4 if len(self._notice) == 1 else self.size.height * 2 // 3)
        return self._notice, most

    def notice(self, text: str, tone: Tone = Tone.INFO) -> None:
        """Tell the person something in the status line, for a while."""
        self.tell(line(Span(text, tone)))

    def news(self, news: Line) -> None:
        """Tell something that happened by itself, in a single line: whoever reads the table is not to lose their place."""
        self.tell(news, most=1)
        self._by_itself = True

    @property
    def telling(self) -> bool:
        """Whether a notice stands that will end by itself."""
        return bool(self._notice) and not self._lasting

    def tell(self, *lines: Line, lasting: bool = False, most: int = 0) -> None:
        """The same for what has several tones, or several lines. What is `lasting` stays until something else is told."""
        self._notice, self._notice_lines, self._lasting, self._by_itself = lines, most, lasting, False
        self._notices_told += 1
        told = self._notices_told
        if not self.stands:
            return
        self.part("status", SpanBlock).show(self._status_lines)
        if not lasting:
            self.set_timer(NOTICE_SECONDS, lambda: self._end_notice(told))

    def past(self) -> None:
        """Something else is done: what the last thing came to is past, and goes."""
        if self.telling and not self._by_itself:
            self._end_notice(self._notices_told)

    def on_screen_suspend(self) -> None:
        """Whoever comes back from another view does not find what was told before; a dialog is still the same place."""
        if isinstance(self.app.screen, ViewScreen) and self.app.screen is not self:
            self.past()

    def _other_screen(self, screen: Screen[Any]) -> None:
        """Another one has the keys: where it is a dialog, which may lie on another one, the view below tells its keys."""
        below = (each for each in reversed(self.app.screen_stack) if isinstance(each, ViewScreen))
        if not isinstance(screen, ViewScreen) and next(below, None) is self:
            self.show_keys()

    def _end_notice(self, told: int) -> None:
        if told == self._notices_told and self._notice:
            self._notice = ()
            self.part("status", SpanBlock).show(self._status_lines)

    def on_mount(self) -> None:
        """First paint, and again with each theme."""
        self.stands = True
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._repaint())
        self.app.screen_change_signal.subscribe(self, self._other_screen)
        if self.first_notice:
            self.notice(self.first_notice, Tone.GOOD)

    def _repaint(self) -> None:
        for table in self.query(LineTable):
            table.repaint()
        for block in self.query(SpanBlock):
            block.refresh()
        for pane in self.query(TextPane):
            pane.refresh()

    def on_screen_resume(self, event: ScreenResume) -> None:
        """What happened while another screen was above is shown at once."""
        # Textual looks up the styles of every part anew. Those of a view that was just built up were, when its parts were put in.
        event.refresh_styles = event.refresh_styles and self._was_open
        self._was_open = True
        self.show()
        self.services.arrived()

    def on_resize(self, event: Resize) -> None:
        """Too small a terminal gets a sentence instead of a ruin."""
        small = too_small(event.size)
        self.set_class(small, "-small")
        self.set_class(event.size.height < ROOMY_HEIGHT, "-short")
        if not small:
            # How many lines of a text are shown depends on the height, which a block of lines does not see.
            self.call_after_refresh(self.show)
            if self.focused is None:
                self.call_after_refresh(self.focus_home)
        if small:
            text = small_words(event.size)
            self.part("small", SpanBlock).show(lambda width: wrapped((text,), max(1, width)))

    # Acting

    def action_do(self, action_id: str) -> None:
        """Do one of the listed actions; where nothing can be seen, leaving is the only one."""
        if not self.has_class("-small") or action_id == "quit":
            self.run_action_id(action_id)

    def run_action_id(self, action_id: str) -> None:
        """Do an action by its id; those that ask or wait run beside the screen."""
        if refused := refusal(action_by_id(action_id), self.services.situation()):
            # Keys that only a recording has are no mistake to speak of elsewhere.
            if not action_by_id(action_id).playback:
                self.notice(refused, Tone.WARN)
            return
        self.past()
        result = self._doer(action_id)()
        if isawaitable(result):

            async def finish() -> None:
                await result

            self.run_worker(finish(), exit_on_error=True)

    def _doer(self, action_id: str) -> Callable[[], Awaitable[object] | None]:
        if opened_view(action_id) is not None:
            return partial(self.app.run_action, f"go_to('{action_id}')")
        if action_by_id(action_id).playback:
            # Imported here: it knows the views, and only recordings need it.
            from nodus_tui.screens.playing import play  # noqa: PLC0415

            return partial(play, self, action_id)
        if action_id == "copy" and (marked := self.get_selected_text()):
            return partial(self._copy_marked, marked)
        doer: Callable[[], Awaitable[object] | None] = getattr(self, f"do_{action_id}")
        return doer

    def on_text_selected(self) -> None:
        """Say how what the mouse marked is copied."""
        if marked := self.get_selected_text():
            count = f"{len(marked):,} character{'s' if len(marked) != 1 else ''}"
            self.notice(f"{count} marked: {self.key('copy')} copies {'it' if len(marked) == 1 else 'them'}.", Tone.MUTED)

    def _copy_marked(self, text: str) -> None:
        self.clear_selection()
        copy_text(self, text, "what is marked")

    def do_copy(self) -> None:
        """Copy what is selected; a text has nothing selected but what the mouse marked."""
        self.notice("Mark some text with the mouse first.", Tone.WARN)

    def do_back(self) -> None:
        """Go back to the view before."""
        self.app.pop_screen()

    def do_help(self) -> None:
        """Show all keys."""
        from nodus_tui.widgets.dialogs import HelpOverlay  # noqa: PLC0415 - dialogs are loaded with the first

        self.app.push_screen(HelpOverlay(self.VIEW, self.services.situation()))

    async def do_quit(self) -> None:
        """Leave, after a question where work would stop."""
        await self.app.run_action("leave")

    async def do_palette(self) -> None:
        """Find an action by name."""
        await self.app.run_action("find_action")

    async def do_theme(self) -> None:
        """Choose a theme."""
        await self.app.run_action("choose_theme")

    async def do_jump(self) -> None:
        """Go to a view by its name."""
        await self.app.run_action("jump")

    async def do_undo(self) -> None:
        """Take back the last thing that was done."""
        # Imported here: it stands on this module.
        from nodus_tui.screens.acting import undo  # noqa: PLC0415

        await undo(self)

    def do_notices(self) -> None:
        """List everything that was told."""
        # Imported here: it knows the views.
        from nodus_tui.screens.notices import show_notices  # noqa: PLC0415

        show_notices(self)

    async def do_launch(self) -> None:
        """Choose, estimate and launch a spec file."""
        await self.app.run_action("launch")
