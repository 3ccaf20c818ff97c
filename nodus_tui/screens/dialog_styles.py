"""How dialogs look. The application has these styles from its start; the dialogs themselves are loaded with the first that is opened."""

DIALOG_CSS = """
ModalScreen { align: center middle; background: $background 60%; }
ModalScreen:ansi { background: transparent; }
#dialog { width: 72; max-width: 100%; height: auto; max-height: 100%; padding: 1 2; background: $panel; border: round $primary; }
#dialog { overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-background: $panel; }
#dialog SpanBlock { background: $panel; }
#dialog ChoiceRow { background: $panel; margin-top: 1; }
#dialog TextPane, #dialog LineTable { background: $panel; }
#dialog Input { background: $surface; margin: 1 0 0 0; padding: 0 1; border: none; height: 1; }
#dialog #words { margin: 0; }
#dialog #problem { margin-top: 1; }
Input:focus { background-tint: $foreground 0%; }
"""
THEME_CSS = """
ThemeDialog { align: right middle; background: transparent; }
ThemeDialog #dialog { width: 46; padding: 0 1; }
ThemeDialog LineTable { height: auto; max-height: 16; margin: 1 0 0 0; }
ThemeDialog #about { margin: 0 0 1 2; }
App.-low ThemeDialog #sample { max-height: 0; }
App.-low ThemeDialog #about { margin: 0 0 0 2; }
"""
"""At the side, and over a view that is not dimmed: it is what is looked at."""
COLUMNS_CSS = """
ColumnsDialog { align: right middle; background: transparent; }
ColumnsDialog #dialog { width: 46; padding: 0 1; }
ColumnsDialog LineTable { margin: 1 0 0 0; }
ColumnsDialog #problem { margin-top: 1; }
App.-low ColumnsDialog LineTable { margin: 0; }
App.-low ColumnsDialog #problem { margin: 0; }
"""
"""At the side: the table is what is looked at."""
