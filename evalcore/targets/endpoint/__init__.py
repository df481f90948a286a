"""`openai:` targets: models behind an HTTP endpoint, whichever API dialect it speaks."""
