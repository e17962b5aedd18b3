-- the name of the application
SET application_name = 'DBeaver 24.2.0 - Main <postgres>'

-- the version
-- answered: the versions differ
SELECT version()

-- the schema; who the user is
-- compare: current_schema
SELECT current_schema(),session_user

-- the search path
SHOW search_path

-- whether strings are what the standard says
SHOW standard_conforming_strings

-- what the catalogs have
SELECT reltype FROM pg_catalog.pg_class WHERE 1<>1 LIMIT 1

-- the same of types
SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1

-- the same of labels
SELECT * FROM pg_catalog.pg_enum WHERE 1<>1 LIMIT 1

-- this database
-- compare: datallowconn, datistemplate, datconnlimit
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datname=current_database()

-- the databases
-- answered: a replica has a name of its own for its database
SELECT db.oid,db.* FROM pg_catalog.pg_database db
WHERE datallowconn AND NOT datistemplate OR db.datname ='postgres'
ORDER BY db.datname

-- the roles
-- answered: a replica has one role
SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a
left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid
ORDER BY a.rolname

-- the settings
-- answered: the servers differ
select * from pg_catalog.pg_settings

-- the encodings
-- answered: a replica has one encoding
select distinct c.contoencoding as encid, pg_catalog.pg_encoding_to_char(c.contoencoding) as encname from pg_catalog.pg_conversion c ORDER BY 2

-- the ways to store
-- rows: amname = heap, btree
-- compare: amname
SELECT am.oid,am.* FROM pg_catalog.pg_am am ORDER BY am.oid

-- the languages
-- answered: a replica has none
SELECT l.oid,l.* FROM pg_catalog.pg_language l ORDER BY l.oid

-- the tablespaces
-- answered: a replica has none
SELECT t.oid,t.*,pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid

-- the foreign servers and wrappers
SELECT fs.oid,fs.* FROM pg_catalog.pg_foreign_server fs ORDER BY fs.oid

-- the extensions
-- answered: a replica has none
SELECT e.oid, cfg.tbls, n.nspname as schema_name, e.*
FROM pg_catalog.pg_extension e
join pg_catalog.pg_namespace n on n.oid =e.extnamespace
left join (select ARRAY_AGG(ns.nspname || '.' || cls.relname) tbls, oid_ext
           from (select unnest(e1.extconfig) oid, e1.oid oid_ext from pg_catalog.pg_extension e1) c
           join pg_catalog.pg_class cls on cls.oid = c.oid
           join pg_catalog.pg_namespace ns on ns.oid = cls.relnamespace
           group by oid_ext) cfg on cfg.oid_ext = e.oid
ORDER BY e.oid

-- the schemas
-- compare: nspname, description
-- rows: nspname = shop
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass
 ORDER BY nspname

-- the types of a schema
-- compare: typname, typlen, typtype, typcategory, base_type_name
-- rows: typname = int2, int4, int8, float4, float8, numeric, text, varchar, bpchar, bool, date, time, timestamp, timestamptz, uuid, jsonb, json, bytea, interval, inet, _text, _int4
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IS NOT NULL
AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')

-- a type by its id
-- compare: oid, typname, typlen, typtype, typarray, base_type_name
SELECT t.oid,t.typname,t.typlen,t.typtype,t.typarray,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_class c ON c.oid=t.typrelid
WHERE t.oid=1700

-- the labels of an enum
SELECT e.oid,e.*
FROM pg_catalog.pg_enum e
WHERE e.enumtypid=23
ORDER BY e.enumsortorder

-- the tables of a schema
-- compare: relname, relkind, relhasindex, relpersistence, relispartition, relnatts, partition_expr, partition_key, description
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,  pg_catalog.pg_get_partkeydef(c.oid) as partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
WHERE c.relnamespace={public} AND c.relkind not in ('i','I','c')
ORDER BY c.relname

-- the columns of a schema
-- compare: relname, attname, atttypid, attlen, attnum, atttypmod, attnotnull, attisdropped, attidentity, attgenerated, attndims, attbyval, attalign, def_value, description
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND a.attnum > 0 AND c.relnamespace={public}
ORDER BY c.relname, a.attnum

-- the columns of a table
-- compare: relname, attname, atttypid, attnum, attnotnull, def_value
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND a.attnum > 0 AND c.oid={shop.lines}
ORDER BY a.attnum

-- the constraints of a table
-- compare: conname, contype, condeferrable, condeferred, convalidated, conkey, confkey, tabrelname, refnamespace, consrc_copy, description
SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE c.conrelid={shop.lines}
ORDER BY c.oid

-- the constraints of a schema
-- compare: conname, contype, tabrelname
SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE t.relnamespace={public} AND c.contype <> 'n'
ORDER BY c.conname

-- the indexes of a schema
-- compare: indisunique, indisprimary, indisvalid, indnatts, indkey, keys, relname, tabrelname, description, expr
SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid
WHERE  c.relnamespace={shop} ORDER BY tabrelname, c.relname

-- an index as a statement
select pg_catalog.pg_get_indexdef({orders_pkey})

-- a column of an index
select pg_catalog.pg_get_indexdef({orders_pkey}, 1, true)

-- a constraint as a statement
SELECT conname, pg_catalog.pg_get_constraintdef(oid, true) AS definition FROM pg_catalog.pg_constraint WHERE conrelid = {shop.lines} AND contype = 'p'

-- the sizes of tables
-- answered: compressed tables take less
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) as total_rel_size, pg_catalog.pg_relation_size(c.oid) as rel_size FROM pg_class c WHERE c.relnamespace={public}

-- the size of a table
-- answered: compressed tables take less
select pg_catalog.pg_total_relation_size({public.orders}),pg_catalog.pg_relation_size({public.orders})

-- the rows of a table, as the planner thinks
-- answered: an estimate
SELECT reltuples::bigint FROM pg_catalog.pg_class WHERE oid={public.orders}

-- the tables that a table inherits from
SELECT i.*,c.relnamespace FROM pg_catalog.pg_inherits i,pg_catalog.pg_class c WHERE i.inhrelid={public.orders} AND c.oid=i.inhparent ORDER BY i.inhseqno

-- the triggers of a table
SELECT x.oid,x.*,p.pronamespace as func_schema_id,d.description
FROM pg_catalog.pg_trigger x
LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid=x.tgfoid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=x.oid AND d.objsubid=0
WHERE NOT x.tgisinternal AND x.tgrelid={public.orders}

-- the rules of a table
SELECT r.oid,r.rulename FROM pg_catalog.pg_rewrite r WHERE r.ev_class={public.orders}

-- the policies of a table
SELECT pol.polname, pol.polpermissive FROM pg_catalog.pg_policy pol WHERE pol.polrelid={public.orders}

-- the functions of a schema
SELECT p.oid,p.proname
FROM pg_catalog.pg_proc p
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid
WHERE p.pronamespace={public}
ORDER BY p.proname

-- the sequences of a schema
SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relkind = 'S' AND c.relnamespace={public}

-- the views' texts
SELECT pg_get_viewdef(c.oid, true) FROM pg_catalog.pg_class c WHERE c.relkind = 'v' AND c.relnamespace={public}

-- a search for a name
-- compare: relname, relkind
SELECT pc.relname, pc.relkind, pc.relnamespace FROM pg_catalog.pg_class pc WHERE pc.relkind in('r','v','m','f','p') AND pc.relname ILIKE '%ord%' AND pc.relnamespace IN ({public},{shop}) ORDER BY pc.relname LIMIT 100

-- a search for a column
-- compare: attname
SELECT x.attname,x.attrelid,x.atttypid FROM pg_catalog.pg_attribute x, pg_catalog.pg_class c WHERE c.oid=x.attrelid AND x.attname ILIKE '%item%' AND c.relnamespace IN ({public},{shop}) ORDER BY x.attname LIMIT 100

-- the first page of a table
SELECT x.id, x.customer, x.price, x.placed, x.open, x.weight, x.day, x.code, x.tags, x.half FROM public.orders x ORDER BY x.id LIMIT 200

-- rows by a filter that the grid writes
SELECT x.id FROM public.orders x WHERE "open" = true AND customer LIKE 'customer 2%' ORDER BY x.id DESC

-- the rows of a table
SELECT count(*) FROM public.orders

-- how a statement is carried out
-- answered: plans differ
EXPLAIN SELECT x.* FROM public.orders x
