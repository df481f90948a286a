"""The cards of the SQL engines that come with this package: how each is started, and what it runs.

What is not run is an early and readable refusal (see `guard`), not the wall behind it.
"""

from __future__ import annotations

from evalcore.catalog import EngineCard

_COMMON = "SELECT WITH VALUES INSERT UPDATE DELETE CREATE DROP ALTER BEGIN COMMIT ROLLBACK END"
#: The name of the socket of a server that is kept in a folder.
SOCKET = "server.sock"

CARDS: tuple[EngineCard, ...] = (
    EngineCard(
        name="sqlite",
        title="SQLite",
        backend="evalcore.sqlkit.engines.sqlite:open_backend",
        library="sqlite3",
        unit="vm_steps",
        statements=f"{_COMMON} ANALYZE REINDEX RELEASE REPLACE SAVEPOINT",
        refused_functions=(r"load_extension|readfile|writefile|edit|fts3_tokenizer|pragma_\w+"),
        kind_query=(
            "SELECT type, 0 FROM sqlite_master WHERE lower(name) = {name}"
            " UNION ALL SELECT type, 1 FROM sqlite_temp_master WHERE lower(name) = {name}"
        ),
    ),
    EngineCard(
        name="duckdb",
        title="DuckDB",
        backend="evalcore.sqlkit.engines.duckdb:open_backend",
        library="duckdb",
        unit="rows",
        statements=(
            f"{_COMMON} ABORT COMMENT DESCRIBE FROM MERGE PIVOT SHOW START SUMMARIZE TABLE TRUNCATE"
            " UNPIVOT"
        ),
        refused_functions=(
            r"read_\w+|sniff_csv|glob|getenv|parquet_\w+|\w+_scan|\w+_scan_dumb"
            r"|from_substrait\w*|query|query_table|json_execute_serialized_sql"
            r"|which_secret|duckdb_secrets|pragma_\w+|enable_\w+|disable_\w+"
            r"|duckdb_logs\w*|write_log"
        ),
        kind_query=(
            "SELECT 'table', temporary FROM duckdb_tables() WHERE lower(table_name) = {name}"
            " UNION ALL SELECT 'view', temporary FROM duckdb_views()"
            " WHERE lower(view_name) = {name}"
        ),
    ),
    EngineCard(
        name="postgres",
        title="PostgreSQL",
        server="evalcore.sqlkit.engines.postgres:PostgresServer",
        library="psycopg",
        extra="postgres",
        statements=(
            f"{_COMMON} ABORT ANALYZE CALL COMMENT DO MERGE REFRESH REINDEX RELEASE SAVEPOINT START"
            " TABLE TRUNCATE"
        ),
        refused_functions=(
            r"pg_read_\w+|pg_ls_\w+|pg_stat_file|pg_file_\w+|lo_\w+|loread|lowrite"
            r"|dblink\w*|set_config|pg_terminate_backend|pg_cancel_backend"
            r"|pg_reload_conf|pg_rotate_logfile|pg_notify|pg_(try_)?advisory_\w+|(query"
            r"|table|schema|database|cursor)_to_xml\w*|pg_export_snapshot|pg_create_\w+"
            r"|pg_drop_\w+|pg_switch_wal|pg_log_\w+|pg_import_\w+"
        ),
        schemes=("postgres", "postgresql"),
        dsn_path="dbname",
        local_parameters={"host": "{folder}", "user": "postgres", "dbname": "postgres"},
        kind_query=(
            "SELECT relkind::text, relpersistence = 't' FROM pg_class WHERE lower(relname) = {name}"
        ),
    ),
    EngineCard(
        name="mysql",
        title="MySQL",
        server="evalcore.sqlkit.engines.mysql:MysqlServer",
        library="pymysql",
        extra="mysql",
        statements=(
            f"{_COMMON} ANALYZE CALL DEALLOCATE EXECUTE PREPARE RELEASE RENAME REPLACE SAVEPOINT"
            " SET START TABLE TRUNCATE"
        ),
        refused_functions=(
            r"load_file|benchmark|get_lock|release_lock|release_all_locks|is_free_lock"
            r"|is_used_lock|master_\w+_wait|source_pos_wait|wait_for_\w+|sys_exec"
            r"|sys_eval"
        ),
        schemes=("mysql", "mariadb"),
        local_parameters={"unix_socket": f"{{folder}}/{SOCKET}", "user": "root"},
        kind_query=(  # no temporary table is listed
            "SELECT table_type FROM information_schema.tables"
            " WHERE table_schema = DATABASE() AND lower(table_name) = {name}"
        ),
    ),
)
