"""Running what must not be trusted: limited child processes and what the kernel holds them to."""
