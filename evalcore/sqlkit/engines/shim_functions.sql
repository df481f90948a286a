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
  RETURN CASE WHEN abs(a) < 1 AND a <> 0 THEN regexp_replace(trim_scale(a)::text, '0\.', '.')
    ELSE trim_scale(a)::text END;
CREATE FUNCTION to_char(a int) RETURNS text IMMUTABLE STRICT RETURN a::text;
CREATE FUNCTION to_char(a bigint) RETURNS text IMMUTABLE STRICT RETURN a::text;
CREATE FUNCTION to_char(a text) RETURNS text IMMUTABLE STRICT RETURN a;
CREATE FUNCTION to_number(a text) RETURNS numeric IMMUTABLE STRICT RETURN a::numeric;
CREATE FUNCTION to_number(a numeric) RETURNS numeric IMMUTABLE STRICT RETURN a;
CREATE FUNCTION lengthb(a text) RETURNS int IMMUTABLE STRICT RETURN octet_length(a);
CREATE FUNCTION bitand(a numeric, b numeric) RETURNS numeric IMMUTABLE STRICT
  RETURN (a::bigint & b::bigint)::numeric;
