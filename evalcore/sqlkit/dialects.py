"""The SQL dialects and servers we know: how people write them, who parses and who executes them.

A product that cannot be had here is executed by an engine that stands in for it, with the profile
that `evalcore.sqlkit.products` holds. Nothing executes Oracle, SQL Server and the products that are
only ever the source of a conversion.
"""

from __future__ import annotations

import re
from types import new_class

from sqlglot.dialects.dialect import Dialect

from evalcore.catalog import engine_cards
from evalcore.errors import UsageError
from evalcore.i18n import Note
from evalcore.records import Record

#: Dialects by internal name (sqlglot's): the name that people use.
TITLES: dict[str, str] = {
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "oracle": "Oracle",
    "tsql": "SQL Server",
}
_ALIASES = {"postgresql": "postgres", "sqlserver": "tsql", "mssql": "tsql", "mariadb": "mysql"}


class Server(Record, frozen=True):
    """A database product as a case names it.

    `dialect` is the internal name of the dialect that its SQL is parsed in, "" for sqlglot's own;
    `engine` executes it here ("" if none; another product stands in by a profile); `version` is the
    version that the case names, or "".
    """

    title: str
    dialect: str
    engine: str = ""
    version: str = ""

    @property
    def name(self) -> str:
        """As a prompt says it."""
        return f"{self.title} {self.version}".strip()


_OPENGAUSS = Server("openGauss", "postgres", "postgres")
_GAUSSDB = Server("GaussDB", "postgres", "postgres")
_OCEANBASE_ORACLE = Server("OceanBase (Oracle mode)", "oracle", "postgres")
_OCEANBASE_MYSQL = Server("OceanBase (MySQL mode)", "mysql", "mysql")
_KINGBASE = Server("KingbaseES", "postgres", "postgres")
_DM = Server("DM", "oracle", "postgres")
#: Products that share another dialect, by the beginning of their folded name; longer ones first.
_RELATED_PRODUCTS: dict[str, Server] = {
    "opengauss": _OPENGAUSS,
    "gaussdb": _GAUSSDB,
    "oceanbaseoracle": _OCEANBASE_ORACLE,
    "oceanbase的oracle模式": _OCEANBASE_ORACLE,
    "oceanbasemysql": _OCEANBASE_MYSQL,
    "oceanbase的mysql模式": _OCEANBASE_MYSQL,
    "oceanbase": _OCEANBASE_MYSQL,
    "kingbase": _KINGBASE,
    "人大金仓": _KINGBASE,
    "金仓": _KINGBASE,
    "dameng": _DM,
    "达梦": _DM,
    "dm": _DM,
    "tidb": Server("TiDB", "mysql", "mysql"),
    "polardbforpostgresql": Server("PolarDB for PostgreSQL", "postgres", "postgres"),
    "polardbpostgresql": Server("PolarDB for PostgreSQL", "postgres", "postgres"),
    "polardb": Server("PolarDB for MySQL", "mysql", "mysql"),
    "mariadb": Server("MariaDB", "mysql", "mysql"),
    "ibmdbtwo": Server("DB2", ""),
    "dbtwo": Server("DB2", ""),
    "snowflake": Server("Snowflake", "snowflake"),
    "bigquery": Server("BigQuery", "bigquery"),
    "clickhouse": Server("ClickHouse", "clickhouse"),
    "apachehive": Server("Hive", "hive"),
    "hive": Server("Hive", "hive"),
    "spark": Server("Spark SQL", "spark"),
}
_SHORTEST_BEGINNING = 4  # letters of a name that may begin another word
_DB2 = re.compile(r"db2", re.IGNORECASE)  # whose digit is no version
#: A version may name the mode of compatibility behind it.
_NAME_AND_VERSION = re.compile(
    r"(.*?)[\s-]*(?:v(?=\d))?((?:\d[\w.]*)?\s*(?:\([^()]*compat[^()]*\))?)\s*",
    re.IGNORECASE | re.DOTALL,
)


def register_plugin_dialects() -> None:
    """Let sqlglot and people know the dialects of engines that plug-ins bring.

    An engine's name is that of its dialect, so that one word leads from a case to its engine. One
    whose base dialect sqlglot lacks stays unknown; `open_engine` says why.
    """
    for name, card in engine_cards().items():
        if name in TITLES:
            continue
        base = Dialect.get(card.dialect or name)
        if base is None:
            continue
        if Dialect.get(name) is None:
            new_class(name, (base,))  # which registers itself by its name
        TITLES[name] = card.title


def dialect_name(text: str) -> str:
    """The internal name of a dialect as people write it; raises UsageError naming the known."""
    register_plugin_dialects()
    plain = text.strip().lower()
    if plain in TITLES:
        return plain
    folded = re.sub(r"[^a-z]", "", plain)
    name = _ALIASES.get(folded, folded)
    if name not in TITLES:
        raise UsageError(Note("upload_dialect", name=f"{text!r}", names=", ".join(TITLES.values())))
    return name


def parse_server(text: str, version: str = "") -> Server:
    """The server that a text names, with its version in it ("Postgresql-9.2") or beside it.

    Raises UsageError naming the known ones.
    """
    match = _NAME_AND_VERSION.fullmatch(_DB2.sub("DBtwo", text.strip()))
    written, stated_version = (match[1], match[2].strip()) if match else (text, "")
    folded = re.sub(r"[\W_]", "", written.lower())
    for beginning, product in _RELATED_PRODUCTS.items():
        is_whole = len(beginning) < _SHORTEST_BEGINNING and beginning.isascii()
        if folded == beginning or (folded.startswith(beginning) and not is_whole):
            return Server(product.title, product.dialect, product.engine, version or stated_version)
    try:
        name = dialect_name(written)
    except UsageError:
        titles = [
            *TITLES.values(),
            *dict.fromkeys(product.title for product in _RELATED_PRODUCTS.values()),
        ]
        raise UsageError(Note("database_unknown", text=text, names=", ".join(titles))) from None
    return Server(
        TITLES[name], name, name if name in engine_cards() else "", version or stated_version
    )
