"""The official harness (swebench 5, with Docker) as a process of its own, and what it needs."""
