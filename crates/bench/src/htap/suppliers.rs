//! The three tables that CH-benCHmark takes from TPC-H, as lines of COPY.
//!
//! Nations are numbered by a character, to be found by the first one of a customer's state. Who supplies an item of a
//! warehouse follows from both numbers (`mod(s_w_id * s_i_id, 10000)`).

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const REGIONS: [&str; 5] = ["Africa", "America", "Asia", "Europe", "Middle East"];

/// Names, and the numbers of their regions.
const NATIONS: &str = "Algeria/0 Argentina/1 Brazil/1 Canada/1 Egypt/4 Ethiopia/0 France/3 Germany/3 India/2 \
    Indonesia/2 Iran/4 Iraq/4 Japan/2 Jordan/4 Kenya/0 Morocco/0 Mozambique/0 Peru/1 China/2 Romania/3 Oman/4 \
    Vietnam/2 Russia/3 Britain/3 Cuba/1 Australia/2 Austria/3 Belgium/3 Cambodia/2 Angola/0 Chile/1 Denmark/3 \
    Ecuador/1 Finland/3 Greece/3 Hungary/3 Iceland/3 Israel/4 Italy/3 Kuwait/4 Laos/2 Lebanon/4 Libya/0 Malaysia/2 \
    Mali/0 Mexico/1 Nepal/2 Netherlands/3 Niger/0 Norway/3 Panama/1 Poland/3 Portugal/3 Qatar/4 Senegal/0 Spain/3 \
    Sweden/3 Thailand/2 Togo/0 Tunisia/0 Turkey/4 Uruguay/1";

/// What nations are numbered by, in their order.
const CHARACTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const SUPPLIERS: u32 = 10_000;
/// Of so many suppliers one is bad.
const BAD_ONE_IN: u32 = 1_000;

/// Each table with its lines.
pub fn tables() -> [(&'static str, String); 3] {
    [
        ("region", regions()),
        ("nation", nations()),
        ("supplier", suppliers()),
    ]
}

fn regions() -> String {
    let named = REGIONS.iter().enumerate();
    named
        .map(|(key, name)| format!("{key}\t{name}\tRegion {name}\n"))
        .collect()
}

fn nations() -> String {
    let named = CHARACTERS.iter().zip(NATIONS.split(' '));
    let line = |(key, nation): (&u8, &str)| {
        let (name, region) = nation.split_once('/').expect("a nation has a region");
        format!("{key}\t{name}\t{region}\tNation {name}\n")
    };
    named.map(line).collect()
}

fn suppliers() -> String {
    let mut random = SmallRng::seed_from_u64(7);
    let mut line = |key: u32| {
        let nation = CHARACTERS[random.random_range(0..CHARACTERS.len())];
        let (address, phone): (u64, u64) = (random.random(), random.random_range(0..1_000_000_000));
        let cents = random.random_range(0..1_100_000) - 100_000;
        let comment = match key % BAD_ONE_IN {
            7 => "a bad supplier, complaints".to_owned(),
            _ => format!("{:016x}", random.random::<u64>()),
        };
        let (sign, cents) = (if cents < 0 { "-" } else { "" }, i32::abs(cents));
        format!(
            "{key}\tSupplier#{key:09}\t{address:016x}\t{nation}\t{phone:015}\t{sign}{}.{:02}\t{comment}\n",
            cents / 100,
            cents % 100
        )
    };
    (0..SUPPLIERS).map(&mut line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_is_a_nation() {
        assert_eq!(NATIONS.split(' ').count(), CHARACTERS.len());
        assert_eq!(nations().lines().count(), CHARACTERS.len());
        assert!(nations().starts_with("48\tAlgeria\t0\tNation Algeria\n"));
        assert_eq!(suppliers().lines().count(), 10_000);
    }
}
