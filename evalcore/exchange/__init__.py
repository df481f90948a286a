"""What goes out of the project and comes in: reports, result files, summaries as text."""
