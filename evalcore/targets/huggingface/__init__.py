"""Models on this machine: any checkpoint that transformers loads.

Only `load`, `chat` and what the worker process imports need torch; the rest is light.
"""
