"""GAIA: questions for an assistant with tools, their answers scored as officially."""
