"""Generated databases on which two statements that differ should show it.

`hints` reads constants, joins and limits out of statements, `values` turns them into cells that
satisfy, miss by one or nearly match, `domains` lets joined columns share them, `profiles` says what
kinds of databases there are, `fill` fills a table and `build` a database, `render` writes it as
INSERTs, `shrink` makes a counterexample small.
"""

from evalcore.sqlkit.generate.build import crowded, databases, scaled
from evalcore.sqlkit.generate.database import Database, permuted
from evalcore.sqlkit.generate.hints import row_limits
from evalcore.sqlkit.generate.render import inserts
from evalcore.sqlkit.generate.shrink import shrink

__all__ = [
    "Database",
    "crowded",
    "databases",
    "inserts",
    "permuted",
    "row_limits",
    "scaled",
    "shrink",
]
