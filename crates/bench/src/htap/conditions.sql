-- TPC-C's consistency conditions, clause 3.3.2: each finds what breaks it. A customer's order of a district has
-- w, d and a number for its key.

-- 1 and 8: a warehouse was paid what its districts were, and what history says
select w_id, w_ytd, of_districts, paid
from warehouse,
    (select d_w_id, sum(d_ytd) as of_districts from district group by d_w_id) districts,
    (select h_w_id, sum(h_amount) as paid from history group by h_w_id) payments
where d_w_id = w_id and h_w_id = w_id and (w_ytd <> of_districts or w_ytd <> paid);

-- 2: the next order's number follows the last one's
select d_w_id, d_id, d_next_o_id, last_order
from district, (select o_w_id, o_d_id, max(o_id) as last_order from orders group by o_w_id, o_d_id) orders
where o_w_id = d_w_id and o_d_id = d_id and d_next_o_id - 1 <> last_order;

-- 3: the orders that wait have no gaps
select no_w_id, no_d_id, count(*), min(no_o_id), max(no_o_id)
from new_order
group by no_w_id, no_d_id
having max(no_o_id) - min(no_o_id) + 1 <> count(*);

-- 4 and 6: an order has as many lines as it says
select o_w_id, o_d_id, o_id, o_ol_cnt, line_count
from orders left join
    (select ol_w_id, ol_d_id, ol_o_id, count(*) as line_count from order_line group by ol_w_id, ol_d_id, ol_o_id) lines
    on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
where o_ol_cnt <> coalesce(line_count, 0)
limit 5;

-- 5: an order has no carrier as long as it waits, and only then
select o_w_id, o_d_id, o_id, o_carrier_id, no_o_id
from orders left join new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
where (o_carrier_id is null) <> (no_o_id is not null)
limit 5;

-- 7: a line is delivered with its order
select ol_w_id, ol_d_id, ol_o_id, ol_number
from order_line, orders
where o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id and (ol_delivery_d is null) <> (o_carrier_id is null)
limit 5;

-- 9: a district was paid what history says
select d_w_id, d_id, d_ytd, paid
from district, (select h_w_id, h_d_id, sum(h_amount) as paid from history group by h_w_id, h_d_id) payments
where h_w_id = d_w_id and h_d_id = d_id and d_ytd <> paid;

-- 10 and 12: a customer owes what was delivered, and has paid what history says
select c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered, paid
from customer
    left join (
        select o_w_id, o_d_id, o_c_id, sum(ol_amount) as delivered
        from orders, order_line
        where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id and ol_delivery_d is not null
        group by o_w_id, o_d_id, o_c_id) deliveries
    on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
    left join (
        select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid from history group by h_c_w_id, h_c_d_id, h_c_id) payments
    on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id
where c_balance <> coalesce(delivered, 0) - coalesce(paid, 0) or c_ytd_payment <> coalesce(paid, 0)
limit 5;
