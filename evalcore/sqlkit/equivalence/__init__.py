"""Whether two statements do the same, found out by running both on many generated databases."""
