import java.sql.*;
import java.util.*;

/** What JDBC finds out about tables, columns, keys and indexes, a line each. */
class Metadata {
    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        try (Connection connection =
                 DriverManager.getConnection(url, System.getenv("PGUSER"), System.getenv("PGPASSWORD"))) {
            DatabaseMetaData metadata = connection.getMetaData();
            for (String schema : new String[] {"public", "shop"}) {
                print("table", metadata.getTables(null, schema, "%", new String[] {"TABLE", "PARTITIONED TABLE", "VIEW"}),
                      "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS");
                print("column", metadata.getColumns(null, schema, "%", "%"),
                      "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE",
                      "DECIMAL_DIGITS", "NULLABLE", "COLUMN_DEF", "ORDINAL_POSITION", "IS_NULLABLE",
                      "IS_AUTOINCREMENT", "IS_GENERATEDCOLUMN");
            }
            for (String[] table : new String[][] {{"public", "orders"}, {"public", "Odd Name"}, {"shop", "lines"}, {"public", "notes"}}) {
                print("key", metadata.getPrimaryKeys(null, table[0], table[1]),
                      "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
                print("imported", metadata.getImportedKeys(null, table[0], table[1]), "FKTABLE_NAME", "FKCOLUMN_NAME");
                print("exported", metadata.getExportedKeys(null, table[0], table[1]), "FKTABLE_NAME", "FKCOLUMN_NAME");
                print("index", metadata.getIndexInfo(null, table[0], table[1], false, false),
                      "TABLE_SCHEM", "TABLE_NAME", "NON_UNIQUE", "INDEX_NAME", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC");
                print("best row", metadata.getBestRowIdentifier(null, table[0], table[1], DatabaseMetaData.bestRowSession, false),
                      "COLUMN_NAME", "TYPE_NAME");
            }
            print("type", metadata.getTypeInfo(), Set.of("int8", "text", "numeric", "timestamptz", "bool"),
                  "TYPE_NAME", "DATA_TYPE", "NULLABLE", "CASE_SENSITIVE");
            print("schema", metadata.getSchemas(), Set.of("public", "shop"), "TABLE_SCHEM");
            // What a result says of its columns, with their names in their tables.
            try (Statement statement = connection.createStatement();
                 ResultSet rows = statement.executeQuery("select * from public.orders order by id limit 1")) {
                ResultSetMetaData columns = rows.getMetaData();
                for (int n = 1; n <= columns.getColumnCount(); n++)
                    System.out.println("result: " + columns.getColumnName(n) + " " + columns.getColumnTypeName(n)
                                       + " " + columns.getColumnClassName(n) + " " + columns.getPrecision(n)
                                       + " " + columns.getScale(n));
            }
        }
    }

    static void print(String what, ResultSet rows, String... columns) throws SQLException {
        print(what, rows, Set.of(), columns);
    }

    /** A line for each row; only those whose first column is wanted, if any is named. */
    static void print(String what, ResultSet rows, Set<String> wanted, String... columns) throws SQLException {
        while (rows.next()) {
            if (!wanted.isEmpty() && !wanted.contains(rows.getString(columns[0]))) continue;
            StringJoiner line = new StringJoiner(" ", what + ": ", "");
            for (String column : columns) line.add(String.valueOf(rows.getString(column)));
            System.out.println(line);
        }
    }
}
