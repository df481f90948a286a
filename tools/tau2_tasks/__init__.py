"""Generator of the bundled data of tau2_bench."""
