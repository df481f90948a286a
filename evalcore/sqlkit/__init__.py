"""SQL as a subject: dialects, statements, result tables, engines that run it, plans."""
