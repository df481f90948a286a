"""Running: plan, schedule, retry, journal, resume. Pages enter by `client` only."""
