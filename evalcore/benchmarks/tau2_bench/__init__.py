"""tau2-bench: agents and users who both act, on databases, a telephone and a knowledge base."""
