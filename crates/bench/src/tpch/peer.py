"""A peer of the experiment `tpch`: loads dbgen's files and answers queries, timed.

    python3 peer.py duckdb|datafusion FOLDER THREADS

FOLDER has a file TABLE.tbl for each table, and schema.sql: their definitions. A line on standard
input is a query as a JSON string; the answer is a line of JSON: milliseconds until all rows are
there in Arrow's format, and how many rows. At null it lets go of what it has in memory and answers
null. The first line out tells what the tables take on disk.
"""

import json
import os
import sys
import time


class DuckDb:
    def __init__(self, folder, threads, tables):
        import duckdb

        self.path = os.path.join(folder, "duckdb")
        self.connect = lambda: duckdb.connect(self.path, config={"threads": threads})
        self.connection = self.connect()
        self.version = duckdb.__version__
        self.bytes = {}
        for name, definition, file in tables:
            before = self.file_bytes()
            self.connection.execute(definition)
            self.connection.execute(f"copy {name} from '{file}' (delimiter '|', header false)")
            self.connection.execute("checkpoint")
            self.bytes[name] = self.file_bytes() - before

    def file_bytes(self):
        return os.stat(self.path).st_size

    def forget(self):
        self.connection.close()
        self.connection = self.connect()

    def rows(self, query):
        return self.connection.execute(query).to_arrow_table().num_rows


class DataFusion:
    """Parquet files as DataFusion itself writes them, with zstd."""

    def __init__(self, folder, threads, tables):
        import datafusion

        config = datafusion.SessionConfig().with_target_partitions(threads)
        self.connect = lambda: datafusion.SessionContext(config)
        self.context = self.connect()
        self.version = datafusion.__version__
        self.tables = []
        self.bytes = {}
        for name, definition, file in tables:
            path = os.path.join(folder, f"{name}.parquet")
            columns = definition[definition.index("(") :].strip().rstrip(";")
            self.run(
                f"create external table {name}_rows {columns} stored as csv location '{file}' "
                "options ('format.delimiter' '|', 'format.has_header' 'false')"
            )
            self.run(
                f"copy (select * from {name}_rows) to '{path}' stored as parquet "
                "options ('format.compression' 'zstd(3)')"
            )
            self.run(f"drop table {name}_rows")
            self.tables.append(f"create external table {name} stored as parquet location '{path}'")
            self.run(self.tables[-1])
            self.bytes[name] = sum_bytes(path)

    def forget(self):
        self.context = self.connect()
        for table in self.tables:
            self.run(table)

    def run(self, query):
        return self.context.sql(query).collect()

    def rows(self, query):
        return sum(batch.num_rows for batch in self.run(query))


def sum_bytes(path):
    if os.path.isfile(path):
        return os.stat(path).st_size
    return sum(os.stat(os.path.join(path, file)).st_size for file in os.listdir(path))


def definitions(folder):
    """Name, definition and rows of each table; lineitem comes last."""
    with open(os.path.join(folder, "schema.sql"), encoding="ascii") as file:
        statements = [text.strip() for text in file.read().split(";")]
    for statement in filter(None, statements):
        name = statement.split()[2]
        yield name, statement, os.path.join(folder, f"{name}.tbl")


def main():
    engine, folder, threads = sys.argv[1:]
    kind = {"duckdb": DuckDb, "datafusion": DataFusion}[engine]
    peer = kind(folder, int(threads), list(definitions(folder)))
    print(json.dumps({"version": peer.version, "bytes": peer.bytes}), flush=True)
    for line in sys.stdin:
        query = json.loads(line)
        if query is None:
            peer.forget()
            print("null", flush=True)
            continue
        start = time.perf_counter()
        rows = peer.rows(query)
        milliseconds = (time.perf_counter() - start) * 1e3
        print(json.dumps({"milliseconds": milliseconds, "rows": rows}), flush=True)


main()
