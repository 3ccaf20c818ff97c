"""How much one answer gives of what goes on coming, unless more or less is asked for. Nothing else: the protocol names these figures."""

OUTPUT_SECONDS = 30.0
"""An answer with a command's output ends after so long at the latest; then it is asked on."""

LOG_BYTES = 65_536
"""Of the scheduler's log in one answer."""
