"""Means to test the project with: a tiny model that really learns closed tasks. Needs `local`."""
