"""SQL optimization: rewrites and index advice, decided by results and by rows really read."""
