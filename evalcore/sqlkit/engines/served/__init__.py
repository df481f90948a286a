"""Engines that are servers (PostgreSQL, MariaDB, MySQL): one kept here for all, or one by DSN."""
