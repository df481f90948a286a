"""Running a task's tests on a patched repository, in a sandbox and without containers."""
