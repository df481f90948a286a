"""What only developers run: generators of data, test models, lints. Not installed."""
