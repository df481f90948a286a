"""Database products that another engine stands in for, each by a profile.

A profile says how a statement of the product reads on the engine: MariaDB for those after MySQL,
PostgreSQL with the functions and operators of `engines.postgres_shims` for those after PostgreSQL
and Oracle. What the product has and no translation says exactly is named, so that the statement
stays undecided; what the product itself lacks is refused (`product_features`). A server that is the
product itself needs no profile.

    profile = find_profile("GaussDB", "505")
    readings = translate_statement("SELECT NVL(a, 0) FROM t", profile, schema)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from evalcore.records import Record
from evalcore.sqlkit.engines.postgres_shims import (
    DAY_DIFFERENCES,
    DAYS,
    FUNCTIONS,
    GAUSS_AGGREGATES,
    GAUSS_MONTHS,
    NULL_TEXTS,
    QUOTIENTS,
    TEXTS,
)
from evalcore.sqlkit.product_features import replace_minus
from evalcore.sqlkit.products.mysql_idioms import translate_for_mariadb
from evalcore.sqlkit.products.oracle_idioms import nullify_empty_texts, translate_for_postgres
from evalcore.sqlkit.products.token_edits import Untranslatable

__all__ = ["Profile", "Untranslatable", "find_profile", "translate_rows", "translate_statement"]


class Profile(Record, frozen=True):
    """How a product is stood in for.

    `engine` stands in, `dialect` is what the product's SQL is parsed in, `native` matches the
    version that the product's own server states. `shims` are schemas of `engines.postgres_shims`
    that replace PostgreSQL's own functions and operators. `types`, `empties` and `dates` are those
    of `translate_for_postgres`. `uncertain` are features of which the sources do not say whether
    the product has them. `connects` says whether its own server can be set in a DSN, `has_minus`
    that a product after MySQL has that set operator, `names_outputs` that HAVING may name what the
    select list does.
    """

    title: str
    engine: str
    dialect: str
    native: str
    shims: tuple[str, ...] = ()
    types: bool = False
    empties: bool = False
    dates: bool = False
    uncertain: frozenset[str] = frozenset()
    connects: bool = True
    has_minus: bool = False
    names_outputs: bool = False

    @property
    def session(self) -> tuple[str, ...]:
        """What each session begins with."""
        if self.engine != "postgres":
            return ()
        path = ", ".join(("public", *self.shims, "pg_catalog", FUNCTIONS))
        return (f"SET search_path TO {path}",)


#: What openGauss and GaussDB are in every mode of compatibility: their casts and functions.
_GAUSS_SHIMS = (GAUSS_MONTHS, GAUSS_AGGREGATES, DAYS)
_GAUSS = Profile(
    title="GaussDB",
    engine="postgres",
    dialect="postgres",
    native="GaussDB|openGauss",
    shims=(NULL_TEXTS, QUOTIENTS, *_GAUSS_SHIMS),
    empties=True,
    uncertain=frozenset(("LNNVL", "LATERAL", "KEEP")),
)
_OPENGAUSS = msgspec.structs.replace(
    _GAUSS, title="openGauss", uncertain=frozenset(("LATERAL", "KEEP"))
)
_KINGBASE = Profile(
    title="KingbaseES",
    engine="postgres",
    dialect="postgres",
    native="Kingbase",
    shims=(NULL_TEXTS, DAYS, DAY_DIFFERENCES),
    types=True,
    empties=True,
    dates=True,
)
_DM = Profile(
    title="DM",
    engine="postgres",
    dialect="oracle",
    native="DM Database",
    connects=False,
    shims=(TEXTS, DAYS),
    types=True,
)
_OCEANBASE_ORACLE = Profile(
    title="OceanBase (Oracle mode)",
    engine="postgres",
    dialect="oracle",
    native="OceanBase",
    connects=False,
    shims=(NULL_TEXTS, QUOTIENTS, DAYS, DAY_DIFFERENCES),
    types=True,
    empties=True,
    dates=True,
)
_MYSQL = Profile(
    title="MySQL", engine="mysql", dialect="mysql", native=r"^(?!.*MariaDB)\d", names_outputs=True
)
_NEW_IN_MYSQL_8 = frozenset(("LATERAL", "VALUES ROW", "TABLE", "a row alias", "GROUPING"))
_PROFILES = {
    profile.title: profile
    for profile in (
        _MYSQL,
        msgspec.structs.replace(_MYSQL, title="PolarDB for MySQL"),
        msgspec.structs.replace(_MYSQL, title="TiDB", native="TiDB", uncertain=_NEW_IN_MYSQL_8),
        msgspec.structs.replace(
            _MYSQL,
            title="OceanBase (MySQL mode)",
            native="OceanBase",
            uncertain=_NEW_IN_MYSQL_8 | {"DECODE"},
            has_minus=True,
        ),
        _GAUSS,
        _OPENGAUSS,
        _KINGBASE,
        _DM,
        _OCEANBASE_ORACLE,
    )
}
_MYSQL_COMPATIBILITY = re.compile(r"\b(?:MYSQL|B|M)\b", re.IGNORECASE)
_OTHER_COMPATIBILITY = re.compile(r"\b(?:PG|POSTGRES\w*|MYSQL|B|M)\b", re.IGNORECASE)


def find_profile(title: str, version: str = "", engine_version: str = "") -> Profile | None:
    """The profile of a product, None for an engine that is what a case asks for.

    A `version` may name the mode of compatibility ("5.0 (PG compatibility)"), without which the
    products after PostgreSQL are as they are installed, after Oracle's manner. `engine_version` is
    what the server says of itself.
    """
    profile = _PROFILES.get(title)
    if profile is None or re.search(profile.native, engine_version, re.IGNORECASE):
        return None
    if profile.dialect == "postgres" and _OTHER_COMPATIBILITY.search(version):
        shims = _GAUSS_SHIMS if GAUSS_MONTHS in profile.shims else ()
        return msgspec.structs.replace(
            profile,
            shims=shims,
            types=False,
            empties=False,
            dates=False,
            names_outputs=_MYSQL_COMPATIBILITY.search(version) is not None,
        )
    return profile


def translate_statement(
    sql: str, profile: Profile, schema: Sequence[str], engine_version: str = "MariaDB"
) -> tuple[str, ...]:
    """Translate a statement into its possible readings on the engine; the answer must satisfy each.

    `schema` is the translated DDL. Raises Untranslatable, which names the unsupported feature.
    """
    if profile.engine == "mysql":
        sql = replace_minus(sql, "mysql") if profile.has_minus else sql
        if "MariaDB" not in engine_version:
            return (sql,)
        return translate_for_mariadb(sql, schema, profile.uncertain)
    return (
        translate_for_postgres(
            sql,
            profile.dialect,
            types=profile.types,
            empties=profile.empties,
            dates=profile.dates,
            tables=schema,
            uncertain=profile.uncertain,
        ),
    )


def translate_rows(script: str, profile: Profile) -> str:
    """A script of rows as the product keeps them."""
    return nullify_empty_texts(script, profile.dialect) if profile.empties else script
