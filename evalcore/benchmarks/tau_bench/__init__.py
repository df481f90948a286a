"""tau-bench: tools over a database, a simulated user, and a reward by the state that is left."""
