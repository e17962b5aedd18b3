//! The distributions of clauses 2.1.6 and 4.3.2.

use rand::Rng;
use rand::rngs::SmallRng;

/// The constant of [`nurand`] for last names while loading. That of the run must be 65 to 119 away from
/// it, and neither 96 nor 112.
const C_LAST_LOAD: i32 = 17;
const C_LAST_RUN: i32 = C_LAST_LOAD + 87;
const C_CUSTOMER: i32 = 259;
const C_ITEM: i32 = 7_911;

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// Letters and digits.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// What a tenth of the data texts contain.
pub const ORIGINAL: &str = "ORIGINAL";

/// From `x` to `y`, unevenly: some are hot.
fn nurand(random: &mut SmallRng, a: i32, c: i32, x: i32, y: i32) -> i32 {
    let mixed = random.random_range(0..=a) | random.random_range(x..=y);
    (mixed + c) % (y - x + 1) + x
}

/// A customer of a district with so many.
pub fn customer(random: &mut SmallRng, customers: i32) -> i32 {
    nurand(random, 1_023, C_CUSTOMER, 1, customers)
}

/// One of so many items.
pub fn item(random: &mut SmallRng, items: i32) -> i32 {
    nurand(random, 8_191, C_ITEM, 1, items)
}

/// The number of a last name, of so many, while loading.
pub fn loaded_name(random: &mut SmallRng, names: i32) -> i32 {
    nurand(random, 255, C_LAST_LOAD, 0, names - 1)
}

/// The number of a last name, of so many, that a transaction asks for.
pub fn wanted_name(random: &mut SmallRng, names: i32) -> i32 {
    nurand(random, 255, C_LAST_RUN, 0, names - 1)
}

/// A last name: three syllables by the digits of its number, which is below 1,000.
pub fn last_name(number: i32) -> String {
    let digits = [number / 100, number / 10 % 10, number % 10];
    digits.iter().map(|d| SYLLABLES[*d as usize]).collect()
}

/// Letters and digits, from so many to so many.
pub fn text(random: &mut SmallRng, least: usize, most: usize) -> String {
    let length = random.random_range(least..=most);
    let letter = |_| LETTERS[random.random_range(0..LETTERS.len())] as char;
    (0..length).map(letter).collect()
}

/// So many digits.
pub fn digits(random: &mut SmallRng, length: usize) -> String {
    let digit = |_| char::from(b'0' + random.random_range(0..10_u8));
    (0..length).map(digit).collect()
}

/// A text of 26 to 50, a tenth of which contain [`ORIGINAL`].
pub fn data(random: &mut SmallRng) -> String {
    let mut data = text(random, 26, 50);
    if random.random_ratio(1, 10) {
        let at = random.random_range(0..=data.len() - ORIGINAL.len());
        data.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
    }
    data
}

/// A postal code.
pub fn zip(random: &mut SmallRng) -> String {
    digits(random, 4) + "11111"
}
