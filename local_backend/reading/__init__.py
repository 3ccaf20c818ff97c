"""Reading a workspace: resources, results, transcripts, snapshots and the event stream, straight from the database. It never writes.

`reader.py` is what is asked. A shelf knows one family of kinds, and is loaded when one of them is first asked for: most processes that open
a workspace read one kind and leave.
"""
