"""The targets: what can be evaluated, one file per kind."""
