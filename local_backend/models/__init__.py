"""Models: the catalogue, prices, token bounds, providers and rate limits. It knows calls and money, not runs or groups."""
