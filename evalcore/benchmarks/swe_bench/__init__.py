"""SWE-bench: a patch for a real issue, applied and tested."""
