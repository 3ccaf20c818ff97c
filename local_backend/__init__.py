"""The embedded backend: scheduler, ledger, store, models, environments and graders on this machine.

It sees `nodus_tui.contract` and `nodus_tui.statistics`, and nothing else of the console.
"""
