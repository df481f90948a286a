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

CREATE FUNCTION ltrim(a text) RETURNS text IMMUTABLE STRICT RETURN or_null(ltrim(a));
CREATE FUNCTION ltrim(a text, b text) RETURNS text IMMUTABLE STRICT
  RETURN or_null(ltrim(a, b));
CREATE FUNCTION rtrim(a text) RETURNS text IMMUTABLE STRICT RETURN or_null(rtrim(a));
CREATE FUNCTION rtrim(a text, b text) RETURNS text IMMUTABLE STRICT
  RETURN or_null(rtrim(a, b));
CREATE FUNCTION btrim(a text) RETURNS text IMMUTABLE STRICT RETURN or_null(btrim(a));
CREATE FUNCTION btrim(a text, b text) RETURNS text IMMUTABLE STRICT
  RETURN or_null(btrim(a, b));

CREATE FUNCTION lpad(a text, b int) RETURNS text IMMUTABLE STRICT RETURN or_null(lpad(a, b));
CREATE FUNCTION lpad(a text, b int, c text) RETURNS text IMMUTABLE STRICT
  RETURN or_null(lpad(a, b, c));
CREATE FUNCTION rpad(a text, b int) RETURNS text IMMUTABLE STRICT RETURN or_null(rpad(a, b));
CREATE FUNCTION rpad(a text, b int, c text) RETURNS text IMMUTABLE STRICT
  RETURN or_null(rpad(a, b, c));
