"""Scheduling: the ledger and admission (pure arithmetic), and the asyncio engine that asks them before it acts."""
