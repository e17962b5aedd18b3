//! Three questions worth asking.

/// A question and its SQL, which can be pasted into psql.
pub(super) struct Question {
    pub(super) title: &'static str,
    pub(super) sql: &'static str,
}

/// Across tables, across all data, and by time.
pub(super) const QUESTIONS: [Question; 3] = [
    Question {
        title: "Who are the best customers?",
        sql: "\
select c.name, c.city, count(*) as orders, sum(o.total) as total
from customers c join orders o on o.customer_id = c.customer_id
group by c.customer_id, c.name, c.city
order by total desc
limit 5",
    },
    Question {
        title: "Is it one state? Four tables, four sums: they are equal, always.",
        sql: "\
select (select sum(amount) from order_lines) as lines,
       (select sum(total) from orders) as orders,
       (select sum(balance) from customers) as balances,
       (select sum(revenue) from items) as revenues",
    },
    Question {
        title: "How much of what arrived on the last days was late?",
        sql: "\
select delivered_at::date as day, count(*) as arrived,
       sum(case when delivered_at::date > promised_on then 1 else 0 end) as late
from order_lines
where delivered_at is not null
group by delivered_at::date
order by day desc
limit 7",
    },
];
