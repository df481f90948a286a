"""What PostgreSQL lacks of the products that it stands in for, as functions and operators.

They lie in schemas of a slot's database that belong to the administrator, so that no statement can
change them and no refill of the slot removes them; a session sees those that its product has by its
search path. The schema of functions only adds names; the others replace PostgreSQL's own, as ahead
of `pg_catalog` they win where the types of the arguments are the same. Bodies are bound when they
are created (PostgreSQL 14 and later), so that no search path changes them.

Sources: the SQL references of Oracle 19c, openGauss 5, GaussDB 505, KingbaseES V8 and DM 8.
"""

from __future__ import annotations

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

_FUNCTIONS = """
CREATE VIEW dual AS SELECT 'X'::varchar(1) AS dummy;
CREATE FUNCTION sysdate() RETURNS timestamp STABLE
  RETURN date_trunc('second', localtimestamp);
CREATE FUNCTION systimestamp() RETURNS timestamptz STABLE RETURN current_timestamp;
CREATE FUNCTION last_day(a timestamp) RETURNS timestamp IMMUTABLE STRICT
  RETURN date_trunc('month', a) + interval '1 month -1 day' + (a - date_trunc('day', a));
CREATE FUNCTION next_day(a timestamp, b text) RETURNS timestamp IMMUTABLE STRICT
  RETURN a + (1 + (position(lower(left(b, 3)) IN 'sunmontuewedthufrisat') / 3
    - extract(dow FROM a)::int + 6) % 7) * interval '1 day';
CREATE FUNCTION add_months(a timestamp, b numeric) RETURNS timestamp IMMUTABLE STRICT
  RETURN CASE WHEN date_trunc('day', a) = date_trunc('month', a) + interval '1 month -1 day'
    THEN date_trunc('month', a) + (trunc(b)::int + 1) * interval '1 month' - interval '1 day'
      + (a - date_trunc('day', a))
    ELSE a + trunc(b)::int * interval '1 month' END;
CREATE FUNCTION months_between(a timestamp, b timestamp) RETURNS numeric IMMUTABLE STRICT
  RETURN (extract(year FROM a) - extract(year FROM b)) * 12
    + extract(month FROM a) - extract(month FROM b)
    + CASE WHEN extract(day FROM a) = extract(day FROM b)
        OR (date_trunc('day', a) = date_trunc('month', a) + interval '1 month -1 day'
          AND date_trunc('day', b) = date_trunc('month', b) + interval '1 month -1 day') THEN 0
      ELSE (extract(day FROM a) - extract(day FROM b)
        + extract(epoch FROM (a::time - b::time)) / 86400) / 31 END;
CREATE FUNCTION trunc(a timestamp) RETURNS timestamp IMMUTABLE STRICT
  RETURN date_trunc('day', a);
CREATE FUNCTION trunc(a timestamp, b text) RETURNS timestamp IMMUTABLE STRICT
  RETURN CASE
    WHEN upper(b) IN ('SYYYY', 'YYYY', 'YEAR', 'SYEAR', 'YYY', 'YY', 'Y') THEN date_trunc('year', a)
    WHEN upper(b) = 'Q' THEN date_trunc('quarter', a)
    WHEN upper(b) IN ('MONTH', 'MON', 'MM', 'RM') THEN date_trunc('month', a)
    WHEN upper(b) = 'IW' THEN date_trunc('week', a)
    WHEN upper(b) IN ('DAY', 'DY', 'D')
      THEN date_trunc('day', a) - extract(dow FROM a)::int * interval '1 day'
    WHEN upper(b) IN ('DDD', 'DD', 'J') THEN date_trunc('day', a)
    WHEN upper(b) IN ('HH', 'HH12', 'HH24') THEN date_trunc('hour', a)
    WHEN upper(b) = 'MI' THEN date_trunc('minute', a)
    ELSE (b || ' is no format')::timestamp END;
CREATE FUNCTION instr(a text, b text) RETURNS int IMMUTABLE STRICT RETURN position(b IN a);
CREATE FUNCTION instr(a text, b text, c int, d int DEFAULT 1) RETURNS int
  IMMUTABLE STRICT LANGUAGE plpgsql AS $$
DECLARE position int := c; seen int := 0;
BEGIN
  IF c = 0 OR d < 1 OR pg_catalog.length(b) = 0 THEN RETURN 0; END IF;
  IF c < 0 THEN position := pg_catalog.length(a) - pg_catalog.length(b) + 1
    + LEAST(c + pg_catalog.length(b), 0); END IF;
  WHILE position BETWEEN 1 AND pg_catalog.length(a) - pg_catalog.length(b) + 1 LOOP
    IF pg_catalog.substr(a, position, pg_catalog.length(b)) OPERATOR(pg_catalog.=) b THEN
      seen := seen + 1;
      IF seen = d THEN RETURN position; END IF;
    END IF;
    position := position + pg_catalog.sign(c)::int;
  END LOOP;
  RETURN 0;
END $$;
CREATE FUNCTION to_char(a numeric) RETURNS text IMMUTABLE STRICT
  RETURN CASE WHEN abs(a) < 1 AND a <> 0 THEN regexp_replace(trim_scale(a)::text, '0\\.', '.')
    ELSE trim_scale(a)::text END;
CREATE FUNCTION to_char(a int) RETURNS text IMMUTABLE STRICT RETURN a::text;
CREATE FUNCTION to_char(a bigint) RETURNS text IMMUTABLE STRICT RETURN a::text;
CREATE FUNCTION to_char(a text) RETURNS text IMMUTABLE STRICT RETURN a;
CREATE FUNCTION to_number(a text) RETURNS numeric IMMUTABLE STRICT RETURN a::numeric;
CREATE FUNCTION to_number(a numeric) RETURNS numeric IMMUTABLE STRICT RETURN a;
CREATE FUNCTION lengthb(a text) RETURNS int IMMUTABLE STRICT RETURN octet_length(a);
CREATE FUNCTION bitand(a numeric, b numeric) RETURNS numeric IMMUTABLE STRICT
  RETURN (a::bigint & b::bigint)::numeric;
"""


def _build_text_functions(schema: str, empty: str) -> str:
    """Functions of texts as Oracle has them; `empty` is what a text without characters becomes."""
    trims = "".join(
        f"""
CREATE FUNCTION {name}(a text) RETURNS text IMMUTABLE STRICT RETURN or_null({name}(a));
CREATE FUNCTION {name}(a text, b text) RETURNS text IMMUTABLE STRICT
  RETURN or_null({name}(a, b));"""
        for name in ("ltrim", "rtrim", "btrim")
    )
    pads = "".join(
        f"""
CREATE FUNCTION {name}(a text, b int) RETURNS text IMMUTABLE STRICT RETURN or_null({name}(a, b));
CREATE FUNCTION {name}(a text, b int, c text) RETURNS text IMMUTABLE STRICT
  RETURN or_null({name}(a, b, c));"""
        for name in ("lpad", "rpad")
    )
    return f"""
CREATE FUNCTION or_null(a text) RETURNS text IMMUTABLE RETURN {empty};
CREATE FUNCTION concat(a text, b text) RETURNS text IMMUTABLE
  RETURN CASE WHEN a IS NULL AND b IS NULL THEN NULL
    ELSE or_null(coalesce(a, '') || coalesce(b, '')) END;
CREATE FUNCTION concat(a text, b anynonarray) RETURNS text STABLE
  LANGUAGE sql AS $$ SELECT {schema}.concat(a, b::text) $$;
CREATE FUNCTION concat(a anynonarray, b text) RETURNS text STABLE
  LANGUAGE sql AS $$ SELECT {schema}.concat(a::text, b) $$;
CREATE OPERATOR || (LEFTARG = text, RIGHTARG = text, FUNCTION = concat);
CREATE OPERATOR || (LEFTARG = text, RIGHTARG = anynonarray, FUNCTION = concat);
CREATE OPERATOR || (LEFTARG = anynonarray, RIGHTARG = text, FUNCTION = concat);
CREATE FUNCTION substr(a text, b int) RETURNS text IMMUTABLE STRICT
  RETURN or_null(CASE WHEN b < 0 THEN CASE WHEN -b > length(a) THEN '' ELSE right(a, -b) END
    ELSE substr(a, greatest(b, 1)) END);
CREATE FUNCTION substr(a text, b int, c int) RETURNS text IMMUTABLE STRICT
  RETURN CASE WHEN c < 1 THEN NULL ELSE or_null(CASE
    WHEN b < 0 THEN CASE WHEN -b > length(a) THEN '' ELSE left(right(a, -b), c) END
    ELSE substr(a, greatest(b, 1), c) END) END;
CREATE FUNCTION substr(a text, b numeric) RETURNS text IMMUTABLE STRICT
  LANGUAGE sql AS $$ SELECT {schema}.substr(a, pg_catalog.trunc(b)::int) $$;
CREATE FUNCTION substr(a text, b numeric, c numeric) RETURNS text IMMUTABLE STRICT
  LANGUAGE sql AS $$
    SELECT {schema}.substr(a, pg_catalog.trunc(b)::int, pg_catalog.trunc(c)::int) $$;
CREATE FUNCTION replace(a text, b text, c text) RETURNS text IMMUTABLE
  RETURN or_null(CASE WHEN b IS NULL THEN a ELSE replace(a, b, coalesce(c, '')) END);
CREATE FUNCTION replace(a text, b text) RETURNS text IMMUTABLE
  RETURN or_null(CASE WHEN b IS NULL THEN a ELSE replace(a, b, '') END);
CREATE FUNCTION to_date(a text, b text) RETURNS timestamp STABLE STRICT
  RETURN to_timestamp(a, b)::timestamp;
{trims}
{pads}
"""


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
    FUNCTIONS: _FUNCTIONS,
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
