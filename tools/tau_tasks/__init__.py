"""The generator of the bundled data of tau_bench."""
