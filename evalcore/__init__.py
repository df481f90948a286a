"""Evaluate large language models and rank them: benchmarks, targets, runner, scores, storage.

Importing this package is cheap and touches neither network nor disk; heavy libraries are loaded by
the modules that need them.
"""

__version__ = "0.1.0"
