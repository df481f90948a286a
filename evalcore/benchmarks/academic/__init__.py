"""Tasks of lm-evaluation-harness as metrics of one benchmark, with our targets as its model."""
