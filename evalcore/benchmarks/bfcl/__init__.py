"""BFCL v4, calling functions: official decoding and checking, re-implemented and without `eval`."""
