"""Multi-turn entries of BFCL: calls run on simulated APIs whose state and results are compared."""
