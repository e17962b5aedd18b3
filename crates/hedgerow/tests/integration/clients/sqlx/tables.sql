create type mood as enum ('sad', 'content', 'glad');
create domain percent as int check (value between 0 and 100);
create table orders (
    id bigint primary key, line smallint not null, pieces int, customer varchar(40) not null, price numeric(12, 2),
    exact numeric, open boolean, weight double precision, half real, day date, placed timestamptz,
    seen timestamp, at time, token uuid, extra jsonb, plain json, content bytea, code char(3),
    tags text[], counts int[], sums bigint[], days date[]);
insert into orders
    select i, i % 7, i * 1000, 'customer ' || i % 10, i * 1.25, i * 1.0625, i % 2 = 0, i / 4.0, 0.5 * i,
           date '2026-01-01' + i, timestamptz '2026-01-01 00:00:00+00' + i * interval '90 minutes',
           timestamp '2026-01-01 12:00:00.123456' + i * interval '1 second', time '10:00' + i * interval '1 minute',
           lpad(to_hex(i), 32, '0')::uuid, jsonb_build_object('a', i, 'b', '{x,y}'::text[]), '{"b": 1, "a": [null]}',
           decode(lpad(to_hex(i), 4, '0'), 'hex'), 'abc', array['x', null, 'customer ' || i], array[i, null, -i],
           array[i * 10000000000], array[date '2026-01-01' + i, null]
    from generate_series(1, 100) i;
insert into orders (id, line, customer) values (101, 0, 'nothing known');
create table feelings (id int primary key, mood mood, share percent, moods mood[]);
insert into feelings values (1, 'glad', 70, '{glad,sad}'), (2, 'sad', 0, '{}'), (3, null, null, null);
