//! Do snapshots show prefixes of one order of commits?
//!
//! 1. A transaction *precedes* another if it comes earlier in the same session, if it appended the element
//!    before one of the other's, or if the other read what it appended. In the order in which the source
//!    committed, whatever precedes a transaction comes before it.
//! 2. Sessions are chains, so that all that precedes a transaction is one number a session: its *clock*.
//! 3. A snapshot must show, of each list, a beginning of what the source has in the end (nothing lost,
//!    doubled, moved, or never committed). The transactions whose elements come last have clocks; their
//!    maximum is what the snapshot must show at least. Where the first element that a list lacks is of a
//!    transaction within that maximum, the snapshot has torn that transaction, or shows one without what
//!    precedes it:
//!
//!    ```text
//!    source   a: 1 2 3      T appended 2 to a and 7 to b
//!             b: 6 7
//!    snapshot a: 1 2        shows T in a,
//!             b: 6          and lacks T in b: torn
//!    ```
//!
//! 4. Of two snapshots the one with the later position shows at least as much of every list.
//!
//! Snapshots may show some of the lists only: what is asked then holds for these.

use std::collections::{HashMap, VecDeque};

use anyhow::{Context, Result, bail, ensure};

use super::{Element, List, Lists, Session, Snapshot, Transaction};

/// A transaction: its session, and its place there.
type Place = (usize, usize);

/// Of each session, how many of its transactions precede or are one.
type Clock = Box<[usize]>;

/// What the source did, with all that follows from it.
pub struct Checker {
    lists: Lists,
    /// Who appended what.
    writers: HashMap<Element, Place>,
    clocks: HashMap<Place, Clock>,
    sessions: usize,
}

impl Checker {
    /// Derives the order of what these sessions did from what the source has in the end. An error says that
    /// the source has not kept its word: an acknowledged transaction is lost, one is there in part, or the
    /// order is a circle.
    pub fn new(sessions: &[Session], lists: Lists) -> Result<Self> {
        let mut checker = Self {
            writers: HashMap::new(),
            clocks: HashMap::new(),
            sessions: sessions.len(),
            lists,
        };
        let places = checker.place_of_elements()?;
        let mut committed: Vec<(Place, &Transaction)> = Vec::new();
        for (session, transactions) in sessions.iter().enumerate() {
            for (number, transaction) in transactions.iter().enumerate() {
                if is_committed(transaction, &places)? {
                    committed.push(((session, number), transaction));
                }
            }
        }
        for (place, transaction) in &committed {
            for (_, element) in &transaction.appends {
                checker.writers.insert(*element, *place);
            }
        }
        let written = checker.writers.len();
        ensure!(
            written == places.len(),
            "the source has {} elements, of which {written} were appended",
            places.len()
        );
        let before = checker.predecessors(&committed, &places)?;
        checker.set_clocks(&before)?;
        Ok(checker)
    }

    /// How many transactions were committed and appended something.
    pub fn transactions(&self) -> usize {
        self.clocks.len()
    }

    /// Everything wrong with these snapshots, in words.
    pub fn check<P: Ord + std::fmt::Display>(&self, snapshots: &mut [Snapshot<P>]) -> Vec<String> {
        snapshots.sort_by(|a, b| a.position.cmp(&b.position));
        let mut anomalies = Vec::new();
        let mut shown: HashMap<List, usize> = HashMap::new();
        for snapshot in snapshots.iter() {
            let mut note =
                |what: String| anomalies.push(format!("at {}: {what}", snapshot.position));
            self.check_one(&snapshot.lists, &mut note);
            for (list, elements) in &snapshot.lists {
                let most = shown.entry(*list).or_default();
                if elements.len() < *most {
                    note(format!(
                        "{list:?} has {} elements, {most} earlier",
                        elements.len()
                    ));
                }
                *most = elements.len().max(*most);
            }
        }
        anomalies
    }

    fn check_one(&self, lists: &Lists, note: &mut impl FnMut(String)) {
        let mut clock = vec![0; self.sessions];
        for (list, elements) in lists {
            let told = self.lists.get(list).map_or(&[][..], Vec::as_slice);
            if !told.starts_with(elements) {
                let place = elements
                    .iter()
                    .zip(told)
                    .take_while(|(a, b)| a == b)
                    .count();
                note(format!(
                    "{list:?} has {:?} at {place}, the source {:?}",
                    elements.get(place),
                    told.get(place)
                ));
            }
            let last = elements
                .last()
                .and_then(|element| self.writers.get(element));
            if let Some(last) = last {
                raise(&mut clock, &self.clocks[last]);
            }
        }
        for (list, elements) in lists {
            let told = self.lists.get(list).map_or(&[][..], Vec::as_slice);
            let Some(lacking) = told.get(elements.len()) else {
                continue;
            };
            let (session, number) = self.writers[lacking];
            if number < clock[session] {
                note(format!(
                    "{list:?} lacks {lacking}, of transaction {number} of session {session}, and others have \
                     what came with it or after it"
                ));
            }
        }
    }

    /// Where each element is in its list.
    fn place_of_elements(&self) -> Result<HashMap<Element, (List, usize)>> {
        let mut places = HashMap::new();
        for (list, elements) in &self.lists {
            for (place, element) in elements.iter().enumerate() {
                let other = places.insert(*element, (*list, place));
                ensure!(other.is_none(), "the source has {element} twice");
            }
        }
        Ok(places)
    }

    /// What directly precedes each committed transaction.
    fn predecessors(
        &self,
        committed: &[(Place, &Transaction)],
        places: &HashMap<Element, (List, usize)>,
    ) -> Result<HashMap<Place, Vec<Place>>> {
        let mut before = HashMap::new();
        let mut last: HashMap<usize, Place> = HashMap::new();
        for &(place, transaction) in committed {
            let mut own: Vec<Place> = last.insert(place.0, place).into_iter().collect();
            for element in &transaction.reads {
                own.push(*self.writers.get(element).with_context(|| {
                    format!("a transaction read {element}, which was never committed")
                })?);
            }
            for (list, element) in &transaction.appends {
                let (found, number) = places[element];
                ensure!(found == *list, "{element} is in {found:?}, not in {list:?}");
                if let Some(number) = number.checked_sub(1) {
                    own.push(self.writers[&self.lists[list][number]]);
                }
            }
            own.retain(|other| *other != place);
            own.sort_unstable();
            own.dedup();
            before.insert(place, own);
        }
        Ok(before)
    }

    /// Gives every transaction its clock, those first that nothing precedes.
    fn set_clocks(&mut self, before: &HashMap<Place, Vec<Place>>) -> Result<()> {
        let mut waiting: HashMap<Place, usize> = HashMap::new();
        let mut after: HashMap<Place, Vec<Place>> = HashMap::new();
        let mut ready = VecDeque::new();
        for (place, predecessors) in before {
            if predecessors.is_empty() {
                ready.push_back(*place);
            }
            waiting.insert(*place, predecessors.len());
            for predecessor in predecessors {
                after.entry(*predecessor).or_default().push(*place);
            }
        }
        while let Some(place) = ready.pop_front() {
            let mut clock: Clock = vec![0; self.sessions].into();
            for predecessor in &before[&place] {
                raise(&mut clock, &self.clocks[predecessor]);
            }
            clock[place.0] = place.1 + 1;
            self.clocks.insert(place, clock);
            for next in after.remove(&place).unwrap_or_default() {
                let left = waiting.get_mut(&next).expect("is a transaction");
                *left -= 1;
                if *left == 0 {
                    ready.push_back(next);
                }
            }
        }
        if self.clocks.len() < before.len() {
            bail!(
                "{} transactions precede each other in a circle",
                before.len() - self.clocks.len()
            );
        }
        Ok(())
    }
}

fn raise(clock: &mut [usize], other: &[usize]) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

/// Whether all of a transaction's elements are there; an error if some are, or if none are and it was
/// acknowledged.
fn is_committed(
    transaction: &Transaction,
    places: &HashMap<Element, (List, usize)>,
) -> Result<bool> {
    let appends = &transaction.appends;
    let there = appends
        .iter()
        .filter(|(_, element)| places.contains_key(element))
        .count();
    ensure!(
        there == appends.len() || (there == 0 && !transaction.is_acknowledged),
        "of {transaction:?} the source has {there} elements"
    );
    Ok(there > 0)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};

    use super::*;

    const A: List = List { table: 0, key: 0 };
    const B: List = List { table: 1, key: 0 };
    const C: List = List { table: 2, key: 5 };

    fn appending(appends: &[(List, Element)], reads: &[Element]) -> Transaction {
        Transaction {
            appends: appends.to_vec(),
            reads: reads.to_vec(),
            is_acknowledged: true,
        }
    }

    /// The first session appends 1 to A, then 2 to A and 20 to B. The second one reads 20, and appends 30 to C.
    fn checker() -> Result<Checker> {
        let sessions = [
            vec![
                appending(&[(A, 1)], &[]),
                appending(&[(A, 2), (B, 20)], &[]),
            ],
            vec![appending(&[(C, 30)], &[20])],
        ];
        Checker::new(&sessions, lists(&[1, 2], &[20], &[30]))
    }

    fn lists(a: &[Element], b: &[Element], c: &[Element]) -> Lists {
        [(A, a), (B, b), (C, c)]
            .map(|(list, elements)| (list, elements.to_vec()))
            .into()
    }

    fn anomalies(shown: &[Lists]) -> Result<Vec<String>> {
        let snapshots = shown.iter().cloned().enumerate();
        let mut snapshots: Vec<Snapshot<usize>> = snapshots
            .map(|(position, lists)| Snapshot { position, lists })
            .collect();
        Ok(checker()?.check(&mut snapshots))
    }

    #[test]
    fn prefixes_of_the_order_of_commits_are_right() -> Result<()> {
        let shown = [
            lists(&[], &[], &[]),
            lists(&[1], &[], &[]),
            lists(&[1, 2], &[20], &[]),
            lists(&[1, 2], &[20], &[30]),
            [(C, vec![30])].into(),
        ];
        assert_eq!(anomalies(&shown)?, Vec::<String>::new());
        Ok(())
    }

    #[test]
    fn everything_else_is_an_anomaly() -> Result<()> {
        let cases = [
            ("torn", lists(&[1, 2], &[], &[])),
            (
                "a session's first transaction missing",
                lists(&[], &[20], &[]),
            ),
            ("without what was read", lists(&[1], &[], &[30])),
            ("moved", lists(&[2, 1], &[20], &[])),
            ("doubled", lists(&[1, 1], &[], &[])),
            ("never committed", lists(&[1, 2, 9], &[20], &[])),
            ("a hole", lists(&[2], &[20], &[])),
        ];
        for (name, shown) in cases {
            let found = anomalies(std::slice::from_ref(&shown))?;
            assert!(!found.is_empty(), "{name}: {shown:?}");
        }
        let back = anomalies(&[lists(&[1, 2], &[20], &[]), lists(&[1], &[], &[])])?;
        assert_eq!(back.len(), 2, "{back:?}");
        Ok(())
    }

    #[test]
    fn a_source_that_breaks_its_word_is_refused() {
        let lost = [vec![appending(&[(A, 1)], &[])]];
        assert!(Checker::new(&lost, Lists::new()).is_err());
        let torn = [vec![Transaction {
            is_acknowledged: false,
            ..appending(&[(A, 1), (B, 2)], &[])
        }]];
        assert!(Checker::new(&torn, [(A, vec![1])].into()).is_err());
        assert!(Checker::new(&torn, Lists::new()).is_ok(), "never committed");
        let circle = [
            vec![appending(&[(A, 1), (B, 4)], &[])],
            vec![appending(&[(A, 2), (B, 3)], &[])],
        ];
        assert!(Checker::new(&circle, [(A, vec![1, 2]), (B, vec![3, 4])].into()).is_err());
    }

    /// A made-up source that commits at random, and replicas that show prefixes of that: none is accused. One
    /// that leaves a transaction out of one list, which the snapshot shows later ones of, is always found.
    #[test]
    fn prefixes_are_never_accused_and_skipped_transactions_always() -> Result<()> {
        const LISTS: [List; 3] = [A, B, C];
        for seed in 0..200 {
            let mut random = StdRng::seed_from_u64(seed);
            let mut sessions = vec![Session::new(); 4];
            let mut now: Lists = LISTS.map(|list| (list, Vec::new())).into();
            let mut states = vec![now.clone()];
            for number in 0..60 {
                let mut transaction = appending(&[], &[]);
                for list in LISTS {
                    transaction
                        .reads
                        .extend(now[&list].last().filter(|_| random.random_bool(0.3)));
                }
                let list = *LISTS.choose(&mut random).expect("some");
                for list in [list, B] {
                    let element = number * 10 + i64::try_from(transaction.appends.len())?;
                    transaction.appends.push((list, element));
                    now.get_mut(&list).expect("is there").push(element);
                }
                sessions[random.random_range(0..4)].push(transaction);
                states.push(now.clone());
            }
            let checker = Checker::new(&sessions, now)?;
            assert_eq!(checker.transactions(), 60);
            let mut snapshots: Vec<_> = (0..states.len())
                .map(|position| Snapshot {
                    position,
                    lists: states[position].clone(),
                })
                .collect();
            assert_eq!(
                checker.check(&mut snapshots),
                Vec::<String>::new(),
                "seed {seed}"
            );

            // Every transaction appends to B: without B's last element the snapshot is torn.
            let mut torn = snapshots[random.random_range(1..states.len())].clone();
            torn.lists.get_mut(&B).expect("is there").pop();
            assert!(!checker.check(&mut [torn]).is_empty(), "seed {seed}");
        }
        Ok(())
    }
}
