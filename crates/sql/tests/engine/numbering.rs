//! `row_number`, `rank` and `dense_rank` over more rows than come at a time.

use std::fmt::Write;

use sql::Session;

use crate::harness::{Fixture, run};

const ROWS: u64 = 30_000;

/// The team and the points of a row; NULL in some rows, the same in many.
fn row(id: u64) -> (Option<u64>, Option<u64>) {
    let mixed = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let team = (!mixed.is_multiple_of(11)).then_some(mixed % 5);
    let points = (!mixed.is_multiple_of(13)).then_some(mixed / 64 % 900);
    (team, points)
}

fn results() -> Fixture {
    let mut fixture = Fixture::new();
    let table = fixture.table("results", "id bigint key, team bigint, points bigint");
    let cell = |cell: Option<u64>| cell.map_or("\\N".to_owned(), |cell| cell.to_string());
    let mut lines = String::new();
    for id in 0..ROWS {
        let (team, points) = row(id);
        writeln!(lines, "{id}|{}|{}", cell(team), cell(points)).expect("text");
    }
    fixture.write(table, &lines);
    fixture
}

/// What a query gives, whose window is in an operator of its own or is not.
async fn answer(session: &Session, query: &str, numbering: bool) -> Vec<String> {
    let plan = run(session, &format!("explain {query}")).await;
    let plan = plan.expect("a plan").join("\n");
    assert_eq!(plan.contains("NumberingExec"), numbering, "{plan}");
    let rows = run(session, query).await;
    rows.unwrap_or_else(|error| panic!("{query}: {error:?}"))
}

/// Rows by id with their numbers in `window_of`, computed by sorting and counting. NULLs come last.
fn expected(window_of: impl Fn(u64) -> (Option<u64>, Option<u64>)) -> Vec<String> {
    let last = |cell: Option<u64>| cell.unwrap_or(u64::MAX);
    let mut sorted: Vec<(u64, u64, u64)> = (0..ROWS)
        .map(|id| {
            let (partition, order) = window_of(id);
            (last(partition), last(order), id)
        })
        .collect();
    sorted.sort_unstable();
    let mut numbered = Vec::new();
    let (mut number, mut rank, mut dense) = (0, 0, 0);
    for (place, &(partition, order, id)) in sorted.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| sorted[before]);
        if before.is_none_or(|before| before.0 != partition) {
            (number, rank, dense) = (1, 1, 1);
        } else {
            number += 1;
            if before.is_some_and(|before| before.1 != order) {
                (rank, dense) = (number, dense + 1);
            }
        }
        numbered.push((id, format!("{id}|{rank}|{dense}")));
    }
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, line)| line).collect()
}

#[tokio::test]
async fn ranks_in_parts_and_in_all_rows_are_those_of_the_definition() {
    let fixture = results();
    let session = fixture.session();
    let in_teams = "select id, rank() over w, dense_rank() over w from results
                    window w as (partition by team order by points) order by id";
    assert_eq!(answer(&session, in_teams, true).await, expected(row));
    let in_all = "select id, rank() over w, dense_rank() over w from results
                  window w as (order by points) order by id";
    let points = |id| (None, row(id).1);
    assert_eq!(answer(&session, in_all, true).await, expected(points));
    let unordered = "select min(rank), max(rank) from (select rank() over () from results) ranked";
    assert_eq!(answer(&session, unordered, true).await, ["1|1"]);
}

#[tokio::test]
async fn each_row_of_a_part_has_a_number_of_its_own() {
    let fixture = results();
    let session = fixture.session();
    let query = "select count(*) from (
                     select team, row_number() over (partition by team order by points, id) as number,
                            count(*) over (partition by team order by points, id) as so_far
                     from results) numbered
                 where number = so_far";
    let all = [ROWS.to_string()];
    // One operator has both, and is left as it is.
    assert_eq!(answer(&session, query, false).await, all);
    let query = "select count(*), count(distinct (id + number * 100000)), max(number) from (
                     select id, row_number() over (order by points, id) as number from results) numbered";
    let numbers = format!("{ROWS}|{ROWS}|{ROWS}");
    assert_eq!(answer(&session, query, true).await, [numbers]);
    let first = "select team, points from (
                     select team, points, row_number() over (partition by team order by points desc nulls last, id) as number
                     from results where team is not null) numbered
                 where number = 1 order by team";
    let best = |team| {
        (0..ROWS)
            .map(row)
            .filter(|row| row.0 == Some(team))
            .filter_map(|row| row.1)
            .max()
    };
    let expected = (0..5).map(|team| format!("{team}|{}", best(team).expect("a team has points")));
    let expected: Vec<String> = expected.collect();
    assert_eq!(answer(&session, first, true).await, expected);
}
