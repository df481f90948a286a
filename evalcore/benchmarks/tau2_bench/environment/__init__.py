"""The worlds that tau2-bench plays in: tools of both sides, data from files, reward by its parts.

No model is asked in here. `load_world` and `load_tasks` read data, an `Environment` plays one
episode, `compute_reward` scores it.
"""
