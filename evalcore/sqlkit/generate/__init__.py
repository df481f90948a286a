"""Generated databases on which two statements that differ should show it.

`hints` reads constants, joins and limits out of statements, `values` turns them into cells that
satisfy, miss by one or nearly match, `domains` lets joined columns share them, `profiles` says what
kinds of databases there are, `fill` fills a table and `build` a database, `render` writes it as
INSERTs, `shrink_database` makes a counterexample small.
"""

from evalcore.sqlkit.generate.build import (
    generate_crowded_database,
    generate_databases,
    generate_scaled_database,
)
from evalcore.sqlkit.generate.database import Database, permute_rows
from evalcore.sqlkit.generate.hints import list_row_limits
from evalcore.sqlkit.generate.render import render_inserts
from evalcore.sqlkit.generate.shrink import shrink_database

__all__ = [
    "Database",
    "generate_crowded_database",
    "generate_databases",
    "generate_scaled_database",
    "list_row_limits",
    "permute_rows",
    "render_inserts",
    "shrink_database",
]
