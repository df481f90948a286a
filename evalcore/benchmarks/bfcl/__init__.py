"""BFCL v4, function calling: official decoding and checking, re-implemented without `eval`."""
