//! The queries. Each has one answer, whatever the order in which rows are read.

/// A query that a projection is for.
pub struct Query {
    /// What it does.
    pub name: &'static str,
    /// Its text.
    pub sql: &'static str,
}

/// All of them.
pub const QUERIES: [Query; 7] = [
    Query {
        name: "range, one day's rows",
        sql: "select id, customer, amount from sales where sold_on = date '2022-03-05' order by id",
    },
    Query {
        name: "range, sum over a week",
        sql: "select count(*), sum(amount) from sales
              where sold_on between date '2023-05-01' and date '2023-05-07'",
    },
    Query {
        name: "order by, the first 1,000",
        sql: "select sold_on, id, customer, amount from sales order by sold_on, id limit 1000",
    },
    Query {
        name: "order by, everything numbered",
        sql: "select sum(place * id % 7) from
              (select id, row_number() over (order by sold_on, id) as place from sales) numbered",
    },
    Query {
        name: "group by, the first 100 groups",
        sql: "select customer, count(*), sum(amount) from sales group by customer
              order by customer limit 100",
    },
    Query {
        name: "group by, in a range",
        sql: "select sold_on, count(*), sum(amount) from sales
              where sold_on between date '2021-01-01' and date '2021-01-31'
              group by sold_on order by sold_on",
    },
    Query {
        name: "group by, a group a customer",
        sql: "select count(*), max(spent) from
              (select customer, sum(amount) as spent from sales group by customer) customers",
    },
];
