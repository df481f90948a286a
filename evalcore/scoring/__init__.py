"""Scores: weighted points, intervals, paired comparisons and ranks, from samples and verdicts."""
