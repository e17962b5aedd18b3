-- A script as people run them: psql's commands, variables, results that become variables, a
-- transaction that sees one position, copies to the output, and an error that is told.
\set ON_ERROR_STOP 0
\pset pager off
\dt
\d orders
\dt+ shop.nothing
\d "Odd Name"
\d+ shop.lines
\di
\dv
\df
\dn
\du
\l hedgerow
\set customer 'customer 3'
select count(*) as orders_of_three, sum(price) from orders where customer = :'customer';
select max(id) as newest, min(day) as first_day from orders \gset
\echo the newest order is :newest, the first one came on :first_day
select id, customer, price from orders where id = :newest;
\if :{?newest}
    \echo there is a newest order
\else
    \echo there is none
\endif
begin read only;
select count(*) from orders;
select item, at, token from shop.lines;
commit;
\copy (select id, customer, open from orders order by id limit 3) to stdout with (format csv, header)
copy (select * from shop.lines) to stdout;
\x on
select id, placed, day, extra, tags, code, half from orders where id = 2;
\x off
\pset null '(none)'
select null::text as nothing, true as yes, 1.50 as number, array[1, 2] as list;
prepare by_id (bigint) as select customer from orders where id = $1;
execute by_id (7);
select 'select ' || id from orders where id <= 2 order by id \gexec
select customer, open, count(*) from orders where id <= 10 group by 1, 2 order by 1, 2 limit 4 \crosstabview
select * from nowhere;
insert into orders (id, customer) values (1000, 'x');
\echo :SQLSTATE :ROW_COUNT
