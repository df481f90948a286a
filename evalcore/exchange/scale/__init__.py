"""Exchange with SCALE: its published boards in, our runs out, its verdicts decided again."""
