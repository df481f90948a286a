"""Bundles: a run as one file, to be handed in elsewhere and scored again there."""
