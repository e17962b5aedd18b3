-- The three transactions of TPC-C that change rows, a call each, clauses 2.4 to 2.7.
--
-- Each returns how many rows it has changed, the stopwatch's not counted, and what it has written there
-- as its last act: the time.
create index customer_by_name on customer (c_w_id, c_d_id, c_last, c_first);

create function stamp(writer int) returns bigint language sql as $$
    update stopwatch set sw_stamp = (extract(epoch from clock_timestamp()) * 1000000)::bigint
    where sw_writer = writer returning sw_stamp
$$;

-- The items of an order differ, and come in an order in which no two orders can wait for each other.
create function new_order(
    writer int, w int, d int, c int, items int[], supplies int[], quantities int[],
    out changes int, out stamped bigint
) language plpgsql as $$
declare
    o int;
    line_count int := cardinality(items);
begin
    update district set d_next_o_id = d_next_o_id + 1
        where d_w_id = w and d_id = d returning d_next_o_id - 1 into o;
    insert into orders values (
        w, d, o, c, clock_timestamp(), null, line_count, (w = all (supplies))::int);
    insert into new_order values (w, d, o);
    with line as (
        select * from unnest(items, supplies, quantities)
            with ordinality as line (l_item, l_supply, l_quantity, l_number)
    ), sold as (
        update stock
            set s_quantity = case when s_quantity >= l_quantity + 10 then s_quantity - l_quantity
                                  else s_quantity - l_quantity + 91 end,
                s_ytd = s_ytd + l_quantity, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + (l_supply <> w)::int
            from line where s_w_id = l_supply and s_i_id = l_item
            returning l_number, l_item, l_supply, l_quantity,
                case d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                       when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06
                       when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                       else s_dist_10 end as info
    )
    insert into order_line
        select w, d, o, l_number, l_item, l_supply, null, l_quantity, l_quantity * i_price, info
        from sold join item on i_id = l_item;
    changes := 3 + 2 * line_count;
    stamped := stamp(writer);
end $$;

-- A customer without a number is the middle one of those with the last name.
create function payment(
    writer int, w int, d int, c_w int, c_d int, c int, last text, amount numeric,
    out changes int, out stamped bigint
) language plpgsql as $$
declare
    w_named text;
    d_named text;
begin
    if c is null then
        select c_id into c from (
            select c_id, row_number() over (order by c_first) as place, count(*) over () as of_all
            from customer where c_w_id = c_w and c_d_id = c_d and c_last = last) named
            where place = (of_all + 1) / 2;
        if c is null then
            changes := 0;
            stamped := 0;
            return;
        end if;
    end if;
    update warehouse set w_ytd = w_ytd + amount where w_id = w returning w_name into w_named;
    update district set d_ytd = d_ytd + amount
        where d_w_id = w and d_id = d returning d_name into d_named;
    update customer set
        c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = case c_credit when 'BC' then
            left(concat_ws(' ', c_id, c_d_id, c_w_id, d, w, amount) || c_data, 500) else c_data end
        where c_w_id = c_w and c_d_id = c_d and c_id = c;
    insert into history values (
        c, c_d, c_w, d, w, clock_timestamp(), amount, w_named || '    ' || d_named);
    changes := 4;
    stamped := stamp(writer);
end $$;

create function delivery(
    writer int, w int, carrier int, out changes int, out stamped bigint
) language plpgsql as $$
declare
    o int;
    c int;
    line_count int;
    total numeric;
begin
    changes := 0;
    for d in 1..10 loop
        select no_o_id into o from new_order where no_w_id = w and no_d_id = d
            order by no_o_id limit 1;
        continue when not found;
        delete from new_order where no_w_id = w and no_d_id = d and no_o_id = o;
        continue when not found;
        update orders set o_carrier_id = carrier
            where o_w_id = w and o_d_id = d and o_id = o returning o_c_id into c;
        with delivered as (
            update order_line set ol_delivery_d = clock_timestamp()
                where ol_w_id = w and ol_d_id = d and ol_o_id = o returning ol_amount)
            select count(*), sum(ol_amount) into line_count, total from delivered;
        update customer set c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = w and c_d_id = d and c_id = c;
        changes := changes + 3 + line_count;
    end loop;
    stamped := stamp(writer);
end $$;
