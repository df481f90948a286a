"""SQL understanding: predict results, classify statements, read plans, spot syntax errors."""
