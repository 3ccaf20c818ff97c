"""The small sh scripts with which files are read and written in a sandbox, and what their exit codes mean. Pure.

They run as the agent and need what any image has (busybox or coreutils). A path reaches them as an argument, always absolute, so that
nothing in it is an option or is expanded.
"""

from enum import IntEnum


class ScriptCode(IntEnum):
    """Exit codes of the scripts. Others come from what ran in them."""

    DONE = 0
    NOTHING_THERE = 40
    """Standard output: the nearest folder that is there, NUL, and the names in it, one a line."""
    FOLDER = 41
    """Standard output: the same for that folder."""
    NOT_A_FILE = 42
    NOT_READABLE = 43
    NOT_WRITABLE = 44
    NO_PARENT = 45
    """A folder on the way could not be made."""
    NOT_WRITTEN = 46
    TOO_LARGE = 47
    """Standard output: the file's size in bytes."""
    CUT_SHORT = 48
    """Not all of the content arrived."""


MOST_NAMES = 50
"""Names of a folder that are listed, at most."""

_LOOK = f"""
p=$1
list() {{
  d=$p
  while [ -n "$d" ] && ! [ -d "$d" ]; do case $d in */*) d=${{d%/*}} ;; *) d= ;; esac; done
  [ -n "$d" ] || d=/
  printf '%s\\0' "$d"
  ls -1Ap "$d" | head -n {MOST_NAMES + 1}
}}
"""

_CHECK_READ = f"""{_LOOK}
[ -e "$p" ] || {{ list; exit {ScriptCode.NOTHING_THERE:d}; }}
[ -d "$p" ] && {{ list; exit {ScriptCode.FOLDER:d}; }}
[ -f "$p" ] || exit {ScriptCode.NOT_A_FILE:d}
[ -r "$p" ] || exit {ScriptCode.NOT_READABLE:d}
"""

READ_LINES = f"""{_CHECK_READ}
wc -lc <"$p" >&2
[ -z "$(tail -c 1 "$p" | tr '\\0' x)" ] || echo open >&2
if [ -n "$3" ]; then tail -n "+$2" "$p" | head -n "$3"; else tail -n "+$2" "$p"; fi | head -c "$4"
exit 0
"""
"""Arguments: path, first line, how many lines (empty: all), how many bytes at most. Standard error: line breaks and bytes of the whole
file, and `open` where its last line has no line break."""

READ_ALL = f"""{_CHECK_READ}
size=$(wc -c <"$p") || exit {ScriptCode.NOT_READABLE:d}
[ "$size" -le "$2" ] || {{ echo "$size"; exit {ScriptCode.TOO_LARGE:d}; }}
exec cat "$p"
"""
"""Arguments: path, how many bytes at most."""

WRITE = f"""{_LOOK}
if [ -L "$p" ]; then
  to=$(readlink -f "$p" && echo x) || exit {ScriptCode.NOT_WRITTEN:d}
  p=${{to%??}}
fi
[ -d "$p" ] && {{ list; exit {ScriptCode.FOLDER:d}; }}
folder=${{p%/*}}/
was=new
if [ -e "$p" ]; then
  was=old
  [ -f "$p" ] || exit {ScriptCode.NOT_A_FILE:d}
  [ -w "$p" ] || exit {ScriptCode.NOT_WRITABLE:d}
else
  mkdir -p "$folder" || exit {ScriptCode.NO_PARENT:d}
fi
[ -w "$folder" ] || exit {ScriptCode.NOT_WRITABLE:d}
t=$folder$2
trap 'rm -f "$t"' EXIT
if [ $was = old ]; then cp -p "$p" "$t" || exit {ScriptCode.NOT_WRITTEN:d}; fi
cat >"$t" || exit {ScriptCode.NOT_WRITTEN:d}
[ "$(wc -c <"$t")" -eq "$3" ] || exit {ScriptCode.CUT_SHORT:d}
mv -f "$t" "$p" || exit {ScriptCode.NOT_WRITTEN:d}
echo $was
"""
"""Arguments: path, a name for the file that is written first, how many bytes come on standard input. A link is followed, for what it points
to is what is meant; the new file takes the old one's place at once, with its mode. Standard output: `new` or `old`."""
