-- The three transactions of TPC-C that change rows as procedures of the built-in primary, clauses 2.4 to 2.7.
--
-- Its language has no loops: what stands between "--( n = from to" and "--)" is there once for each number, which
-- stands in place of {n} (primary_source.rs). Each transaction leaves in the stopwatch what it is called with: the
-- time before the call. History has a key here, which the writer counts.
create index customer_by_name on customer (c_w_id, c_d_id, c_last, c_first);

create procedure new_order(
    writer integer, called_at bigint, w integer, d integer, c integer, line_count integer, all_local integer
    --( n = 1 15
    , item_{n} integer, supply_{n} integer, quantity_{n} integer
    --)
) as begin atomic
    declare o integer;
    declare price numeric(5,2);
    declare info varchar(24);
    select d_next_o_id into o from district where d_w_id = w and d_id = d;
    update district set d_next_o_id = o + 1 where d_w_id = w and d_id = d;
    insert into orders values (w, d, o, c, localtimestamp, null, line_count, all_local);
    insert into new_order values (w, d, o);
    --( n = 1 15
    if item_{n} is not null then
        select i_price into price from item where i_id = item_{n};
        select case d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
                      when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08
                      when 9 then s_dist_09 else s_dist_10 end
            into info from stock where s_w_id = supply_{n} and s_i_id = item_{n};
        update stock
            set s_quantity = case when s_quantity >= quantity_{n} + 10 then s_quantity - quantity_{n}
                                  else s_quantity - quantity_{n} + 91 end,
                s_ytd = s_ytd + quantity_{n}, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + case when supply_{n} <> w then 1 else 0 end
            where s_w_id = supply_{n} and s_i_id = item_{n};
        insert into order_line values (
            w, d, o, {n}, item_{n}, supply_{n}, null, quantity_{n}, quantity_{n} * price, info);
    end if;
    --)
    update stopwatch set sw_stamp = called_at where sw_writer = writer;
end;

-- The customers of a name; the middle one is meant.
create procedure customers_named(w integer, d integer, last varchar) as begin atomic
    select c_id from customer where c_w_id = w and c_d_id = d and c_last = last order by c_first;
end;

create procedure payment(
    writer integer, called_at bigint, number bigint, w integer, d integer, c_w integer, c_d integer, c integer,
    cents bigint
) as begin atomic
    declare amount numeric(6,2);
    declare w_named varchar(10);
    declare d_named varchar(10);
    declare note varchar(100);
    set amount = cents * 0.01;
    set note = c || ' ' || c_d || ' ' || c_w || ' ' || d || ' ' || w || ' ' || amount;
    update warehouse set w_ytd = w_ytd + amount where w_id = w;
    select w_name into w_named from warehouse where w_id = w;
    update district set d_ytd = d_ytd + amount where d_w_id = w and d_id = d;
    select d_name into d_named from district where d_w_id = w and d_id = d;
    -- There is nothing to cut a text with: where the note would make it too long, the note is all.
    update customer set
        c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = case when c_credit <> 'BC' then c_data
                      when length(c_data) + length(note) > 500 then note
                      else note || c_data end
        where c_w_id = c_w and c_d_id = c_d and c_id = c;
    insert into history values (number, c, c_d, c_w, d, w, localtimestamp, amount, w_named || '    ' || d_named);
    update stopwatch set sw_stamp = called_at where sw_writer = writer;
end;

-- Answers how many lines were delivered in each district, and NULL where no order was left.
create procedure delivery(writer integer, called_at bigint, w integer, carrier integer) as begin atomic
    declare o integer;
    declare c integer;
    declare amount numeric(6,2);
    declare total numeric(12,2);
    --( d = 1 10
    declare lines_{d} integer;
    --)
    --( d = 1 10
    select no_o_id into o from new_order where no_w_id = w and no_d_id = {d} order by no_o_id limit 1;
    if o is not null then
        delete from new_order where no_w_id = w and no_d_id = {d} and no_o_id = o;
        select o_c_id, o_ol_cnt into c, lines_{d} from orders where o_w_id = w and o_d_id = {d} and o_id = o;
        update orders set o_carrier_id = carrier where o_w_id = w and o_d_id = {d} and o_id = o;
        set total = 0;
        --( n = 1 15
        if lines_{d} >= {n} then
            select ol_amount into amount from order_line
                where ol_w_id = w and ol_d_id = {d} and ol_o_id = o and ol_number = {n};
            set total = total + amount;
        end if;
        --)
        update order_line set ol_delivery_d = localtimestamp
            where ol_w_id = w and ol_d_id = {d} and ol_o_id = o;
        update customer set c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = w and c_d_id = {d} and c_id = c;
    end if;
    --)
    update stopwatch set sw_stamp = called_at where sw_writer = writer;
    select 0 as nothing
    --( d = 1 10
    , lines_{d}
    --)
    ;
end;
