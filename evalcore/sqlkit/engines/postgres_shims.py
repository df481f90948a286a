"""What PostgreSQL lacks of the products that it stands in for, as functions and operators.

They lie in schemas of a slot's database that belong to the administrator, so that no statement can
change them and no refill of the slot removes them; a session sees those that its product has by its
search path. The schema of functions only adds names; the others replace PostgreSQL's own, as ahead
of `pg_catalog` they win where the types of the arguments are the same. Bodies are bound when they
are created (PostgreSQL 14 and later), so that no search path changes them.

Sources: the SQL references of Oracle 19c, openGauss 5, GaussDB 505, KingbaseES V8 and DM 8.
"""

from __future__ import annotations

from pathlib import Path

#: Functions that only add names.
FUNCTIONS = "evalboard_functions"
#: Texts in which no characters are NULL, and those in which they are not.
NULL_TEXTS, TEXTS = "evalboard_null_texts", "evalboard_texts"
#: Integers whose quotient is no integer.
QUOTIENTS = "evalboard_quotients"
#: Dates that move by days, and those whose difference is a number of days.
DAYS, DAY_DIFFERENCES = "evalboard_days", "evalboard_day_differences"
#: Months as openGauss and GaussDB count them.
GAUSS_MONTHS = "evalboard_gauss_months"
#: Aggregates of texts over numbers, which openGauss and GaussDB turn into texts.
GAUSS_AGGREGATES = "evalboard_gauss_aggregates"


def _build_text_functions(schema: str, empty: str) -> str:
    """Functions of texts as Oracle has them; `empty` is what a text without characters becomes."""
    text = _read_script("shim_texts.sql")
    return text.replace("{schema}", schema).replace("{empty}", empty)


def _read_script(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


_QUOTIENTS = "".join(
    f"CREATE FUNCTION divide(a {left}, b {right}) RETURNS numeric IMMUTABLE STRICT "
    "RETURN a::numeric / b::numeric;\n"
    f"CREATE OPERATOR / (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = divide);\n"
    for left in ("smallint", "int", "bigint")
    for right in ("smallint", "int", "bigint")
)
_DAYS = "".join(
    f"CREATE FUNCTION {name}_days(a timestamp, b {kind}) RETURNS timestamp IMMUTABLE STRICT "
    f"RETURN a {sign} b::float8 * interval '1 day';\n"
    f"CREATE OPERATOR {sign} (LEFTARG = timestamp, RIGHTARG = {kind}, FUNCTION = {name}_days);\n"
    for name, sign in (("add", "+"), ("subtract", "-"))
    for kind in ("int", "bigint", "numeric", "float8")
)
_DAY_DIFFERENCES = """
CREATE FUNCTION count_days(a timestamp, b timestamp) RETURNS numeric IMMUTABLE STRICT
  RETURN trim_scale(extract(epoch FROM (a - b)) / 86400);
CREATE OPERATOR - (LEFTARG = timestamp, RIGHTARG = timestamp, FUNCTION = count_days);
"""
#: They stay on the day of the month, as their option `end_month_calculate` is off.
_GAUSS_MONTHS = """
CREATE FUNCTION add_months(a timestamp, b numeric) RETURNS timestamp IMMUTABLE STRICT
  RETURN a + trunc(b)::int * interval '1 month';
"""
#: By the casts of openGauss 5.0 (`pg_cast`), which are implicit from every number to text.
_GAUSS_AGGREGATES = """
CREATE FUNCTION append_number(a text, b numeric, c text) RETURNS text IMMUTABLE
  RETURN CASE WHEN b IS NULL THEN a WHEN a IS NULL THEN b::text
    ELSE a || coalesce(c, '') || b::text END;
CREATE AGGREGATE string_agg(numeric, text) (SFUNC = append_number, STYPE = text);
"""
_CONTENTS = {
    FUNCTIONS: _read_script("shim_functions.sql"),
    NULL_TEXTS: _build_text_functions(NULL_TEXTS, "nullif(a, '')"),
    TEXTS: _build_text_functions(TEXTS, "a"),
    QUOTIENTS: _QUOTIENTS,
    DAYS: _DAYS,
    DAY_DIFFERENCES: _DAY_DIFFERENCES,
    GAUSS_MONTHS: _GAUSS_MONTHS,
    GAUSS_AGGREGATES: _GAUSS_AGGREGATES,
}


def build_shim_script() -> str:
    """The script that makes all schemas, for an administrator's session. While a schema is made,
    `pg_catalog` comes before it, so that the bodies name PostgreSQL's own functions."""
    return "".join(
        f"CREATE SCHEMA {name};\nGRANT USAGE ON SCHEMA {name} TO PUBLIC;\n"
        f"SET search_path TO {name};\n{content}\n"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO PUBLIC;\n"
        for name, content in _CONTENTS.items()
    )
