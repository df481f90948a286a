"""SQL engines behind one protocol, each in a limited process of its own (see `registry`)."""
