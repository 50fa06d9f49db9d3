"""One XLA for every front end's StableHLO: replay it here, compile it for devices that are not here."""
