"""Exchange with GAIA: its gated data set."""
