"""Results that others published, read anew from checkouts of their repositories."""
