"""What the server offers beside the pages: API routes, security headers, start-up work."""
