"""Exchange with BFCL: its official data fetched, its result and score files in, our answers out."""
