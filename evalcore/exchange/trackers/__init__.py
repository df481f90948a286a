"""Runs for the tools and formats of others: Every Eval Ever, OpenTelemetry, W&B and MLflow."""
