//! Random calls and statements against a model: a map from keys to rows, and the rules written out by hand.

use std::collections::BTreeMap;

use procedures::Datum;
use proptest::prelude::*;

use crate::world::{World, shown};

const SCHEMA: &str = "
    create table accounts (
        id integer primary key, email text not null unique, region smallint not null,
        balance numeric(6, 2) not null check (balance >= 0), note text
    );
    create index accounts_by_region on accounts (region, balance);
    create procedure put(i integer, e text, r smallint, b numeric, t text) as begin atomic
        insert into accounts values (i, e, r, b, t);
    end;
    create procedure transfer(a integer, b integer, n numeric) as begin atomic
        update accounts set balance = balance - n where id = a;
        update accounts set balance = balance + n where id = b;
    end;
    create procedure tax(r smallint, percent integer) as begin atomic
        update accounts set balance = balance - balance * percent / 100, note = coalesce(note, '') || percent
        where region = r and balance > 10;
    end;
    create procedure of_region(r smallint) as begin atomic
        select id, email, balance, note from accounts where region = r order by balance desc, id;
    end;
";

/// Something that a client does.
#[derive(Clone, Debug)]
enum Act {
    Put {
        id: i64,
        email: u8,
        region: i64,
        cents: i64,
        note: bool,
    },
    Transfer {
        from: i64,
        to: i64,
        cents: i64,
    },
    Tax {
        region: i64,
        percent: i64,
    },
    Move {
        id: i64,
        to: i64,
        email: u8,
    },
    Delete {
        id: i64,
    },
    DeletePoor {
        region: i64,
        cents: i64,
    },
}

fn acts() -> impl Strategy<Value = Act> {
    let id = || 0..8i64;
    let region = || 0..3i64;
    prop_oneof![
        (id(), 0..8u8, region(), -100..1_000_100i64, any::<bool>()).prop_map(
            |(id, email, region, cents, note)| Act::Put {
                id,
                email,
                region,
                // Most are well below what fits.
                cents: if cents % 3 == 0 { cents } else { cents % 5_000 },
                note
            }
        ),
        (id(), id(), -100..3_000i64).prop_map(|(from, to, cents)| Act::Transfer {
            from,
            to,
            cents
        }),
        (region(), 0..120i64).prop_map(|(region, percent)| Act::Tax { region, percent }),
        (id(), id(), 0..8u8).prop_map(|(id, to, email)| Act::Move { id, to, email }),
        id().prop_map(|id| Act::Delete { id }),
        (region(), 0..4_000i64).prop_map(|(region, cents)| Act::DeletePoor { region, cents }),
    ]
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    email: u8,
    region: i64,
    cents: i64,
    note: Option<String>,
}

type Rows = BTreeMap<i64, Row>;

/// Largest balance that fits, in cents.
const CENTS_MAX: i64 = 999_999;

fn with_balance(row: &mut Row, cents: i64) -> Result<(), &'static str> {
    if cents.abs() > CENTS_MAX {
        return Err("22003");
    }
    if cents < 0 {
        return Err("23514");
    }
    row.cents = cents;
    Ok(())
}

fn is_taken(rows: &Rows, email: u8) -> bool {
    rows.values().any(|row| row.email == email)
}

/// What an act does to the model; nothing where it is refused. Says how many rows it changes.
fn act_on(rows: &mut Rows, act: &Act) -> Result<u64, &'static str> {
    match *act {
        Act::Put {
            id,
            email,
            region,
            cents,
            note,
        } => {
            let mut row = Row {
                email,
                region,
                cents: 0,
                note: note.then(|| "n".to_owned()),
            };
            with_balance(&mut row, cents)?;
            if rows.contains_key(&id) || is_taken(rows, email) {
                return Err("23505");
            }
            rows.insert(id, row);
            Ok(1)
        }
        Act::Transfer { from, to, cents } => {
            let mut changed = 0;
            for (id, cents) in [(from, -cents), (to, cents)] {
                if let Some(row) = rows.get_mut(&id) {
                    let cents = row.cents + cents;
                    with_balance(row, cents)?;
                    changed += 1;
                }
            }
            Ok(changed)
        }
        Act::Tax { region, percent } => {
            let mut changed = 0;
            let of_region = rows
                .values_mut()
                .filter(|row| row.region == region && row.cents > 1_000);
            for row in of_region {
                // Halves away from zero.
                let taxed = row.cents * 100 - row.cents * percent;
                let cents = (taxed.abs() + 50) / 100 * taxed.signum();
                with_balance(row, cents)?;
                let before = row.note.take().unwrap_or_default();
                row.note = Some(format!("{before}{percent}"));
                changed += 1;
            }
            Ok(changed)
        }
        Act::Move { id, to, email } => {
            let Some(mut row) = rows.remove(&id) else {
                return Ok(0);
            };
            if rows.contains_key(&to) || is_taken(rows, email) {
                return Err("23505");
            }
            row.email = email;
            rows.insert(to, row);
            Ok(1)
        }
        Act::Delete { id } => Ok(rows.remove(&id).map_or(0, |_| 1)),
        Act::DeletePoor { region, cents } => {
            let before = rows.len();
            rows.retain(|_, row| row.region != region || row.cents >= cents);
            Ok((before - rows.len()) as u64)
        }
    }
}

fn money(cents: i64) -> String {
    format!(
        "{}{}.{:02}",
        if cents < 0 { "-" } else { "" },
        cents.abs() / 100,
        cents.abs() % 100
    )
}

/// What a client sends for an act: some with values in the text, some as parameters.
fn send(world: &mut World, act: &Act) -> Result<u64, &'static str> {
    let email = |email: u8| format!("{email}@example.org");
    let sent = match act {
        Act::Put {
            id,
            email: e,
            region,
            cents,
            note,
        } => world.send(
            &format!("call put($1, $2, $3, {}, $4)", money(*cents)),
            &[
                Datum::Int(*id),
                Datum::text(email(*e)),
                Datum::Int(*region),
                if *note { Datum::text("n") } else { Datum::Null },
            ],
        ),
        Act::Transfer { from, to, cents } => world.send(
            &format!("call transfer({from}, {to}, {})", money(*cents)),
            &[],
        ),
        Act::Tax { region, percent } => {
            world.send(&format!("call tax({region}::smallint, {percent})"), &[])
        }
        Act::Move { id, to, email: e } => world.send(
            "update accounts set id = $2, email = $3 where id = $1",
            &[Datum::Int(*id), Datum::Int(*to), Datum::text(email(*e))],
        ),
        Act::Delete { id } => world.send("delete from accounts where id = $1", &[Datum::Int(*id)]),
        Act::DeletePoor { region, cents } => world.send(
            &format!(
                "delete from accounts where region = $1 and balance < {}",
                money(*cents)
            ),
            &[Datum::Int(*region)],
        ),
    };
    sent.map(|(changed, _)| changed)
        .map_err(|rejection| rejection.code)
}

fn expected_of(rows: &Rows, region: i64) -> Vec<String> {
    let mut of_region: Vec<_> = rows
        .iter()
        .filter(|(_, row)| row.region == region)
        .collect();
    of_region.sort_by_key(|(id, row)| (-row.cents, **id));
    let shown = |(id, row): (&i64, &Row)| {
        let note = row.note.clone().unwrap_or_else(|| "NULL".to_owned());
        format!("{id}|{}@example.org|{}|{note}", row.email, money(row.cents))
    };
    of_region.into_iter().map(shown).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn calls_do_what_the_model_does(acts in proptest::collection::vec(acts(), 1..60)) {
        let (mut world, mut rows) = (World::new(SCHEMA), Rows::new());
        for act in &acts {
            let mut after = rows.clone();
            let expected = act_on(&mut after, act);
            if expected.is_ok() {
                rows = after;
            }
            prop_assert_eq!(send(&mut world, act), expected, "{:?} in {:?}", act, rows);
            for region in 0..3 {
                let found = world.send("call of_region($1)", &[Datum::Int(region)]).expect("answers").1;
                let found: Vec<String> = found.iter().map(|row| shown(row)).collect();
                prop_assert_eq!(found, expected_of(&rows, region), "after {:?}", act);
            }
        }
    }
}
