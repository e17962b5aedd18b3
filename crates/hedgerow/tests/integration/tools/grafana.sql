-- the data source's version, for its settings page
-- answered: the versions differ
SELECT current_setting('server_version_num')::int/100 as version

-- whether there is TimescaleDB
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'

-- the test of a connection
SELECT 1

-- the databases to choose from
-- answered: a replica has one database
SELECT datname FROM pg_database WHERE datistemplate = false

-- the tables of the query builder
select quote_ident(table_name) as "table" from information_schema.tables
    where quote_ident(table_schema) not in ('information_schema',
                             'pg_catalog',
                             '_timescaledb_cache',
                             '_timescaledb_catalog',
                             '_timescaledb_internal',
                             '_timescaledb_config',
                             'timescaledb_information',
                             'timescaledb_experimental')
      and table_type = 'BASE TABLE' and
          quote_ident(table_schema) IN (
          SELECT
            CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
            generate_series(
              array_lower(string_to_array(current_setting('search_path'),','),1),
              array_upper(string_to_array(current_setting('search_path'),','),1)
            ) as i,
            string_to_array(current_setting('search_path'),',') s
          )

-- the columns of a table
select quote_ident(column_name) as "column", data_type as "type"
    from information_schema.columns
    where quote_ident(table_name) = 'orders'

-- the columns of a table whose name needs quotes
select quote_ident(column_name) as "column", data_type as "type"
    from information_schema.columns
    where quote_ident(table_name) = '"Odd Name"'

-- the columns that may be times (editor of older versions)
SELECT quote_ident(column_name) FROM information_schema.columns WHERE
   quote_ident(table_name) = 'orders' AND data_type IN ('timestamp without time zone','timestamp with time zone','bigint','integer','double precision','real')

-- the columns that may be metrics (older versions)
SELECT quote_ident(column_name) FROM information_schema.columns WHERE
   quote_ident(table_name) = 'orders' AND data_type IN ('text','character','character varying') AND column_name <> 'placed'

-- the values of a column, for a condition
SELECT DISTINCT quote_literal(customer) FROM orders WHERE customer IS NOT NULL ORDER BY 1 LIMIT 100

-- a variable's values
SELECT customer AS __text, id AS __value FROM orders WHERE id < 5 ORDER BY id

-- a series: $__time, $__timeFilter
SELECT placed AS "time", price FROM orders
WHERE placed BETWEEN '2026-01-01T06:00:00Z' AND '2026-01-02T06:00:00Z' ORDER BY 1

-- a series in groups: $__timeGroupAlias(placed, 6h), $__timeFilter
SELECT floor(extract(epoch from placed)/21600)*21600 AS "time", avg(weight) AS "weight", count(*)
FROM orders WHERE placed BETWEEN '2026-01-01T00:00:00Z' AND '2026-01-03T00:00:00Z' GROUP BY 1 ORDER BY 1

-- a series a customer: $__timeGroupAlias(placed, 1d), a metric
SELECT floor(extract(epoch from placed)/86400)*86400 AS "time", customer AS metric, sum(price) AS "sum"
FROM orders WHERE placed BETWEEN '2026-01-01T00:00:00.123Z' AND '2026-01-05T00:00:00Z'
GROUP BY 1, 2 ORDER BY 1, 2

-- times as numbers: $__timeEpoch, $__unixEpochFilter, $__unixEpochGroup
SELECT floor((id)/3600)*3600 AS "time", extract(epoch from min(placed)) AS "first" FROM orders
WHERE id >= 1 AND id <= 1767312000 GROUP BY 1 ORDER BY 1

-- an annotation: $__timeFrom, $__timeTo
SELECT extract(epoch from placed) AS time, customer AS text, code AS tags FROM orders
WHERE placed > '2026-01-01T00:00:00Z' AND placed < '2026-01-01T05:00:00Z' ORDER BY time
