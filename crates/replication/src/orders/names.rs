//! Texts of the workload: customers, goods, remarks. Each is a function of the seed and an id.

use std::fmt::Write;

use super::draw::{Draw, Purpose};
use super::workload::Basket;

/// The shop.
pub(super) const SHOP: &str = "Hedgerow & Daughters";

const PLANTS: [&str; 24] = [
    "Alder", "Aspen", "Bramble", "Briar", "Clover", "Dogwood", "Elder", "Fern", "Foxglove",
    "Gorse", "Hawthorn", "Hazel", "Heather", "Holly", "Ivy", "Juniper", "Larch", "Maple",
    "Primrose", "Rowan", "Sloe", "Spindle", "Thistle", "Willow",
];
const FIRMS: [&str; 8] = [
    "& Sons",
    "Farms",
    "Gardens",
    "Nurseries",
    "Orchards",
    "Stores",
    "Trading",
    "Works",
];
const CITIES: [&str; 16] = [
    "Bergen", "Bologna", "Brno", "Cork", "Delft", "Freiburg", "Ghent", "Graz", "Leeds", "Lyon",
    "Malmö", "Porto", "Tartu", "Turku", "Uppsala", "Zürich",
];
const SEGMENTS: [&str; 5] = ["farm", "garden", "kitchen", "public", "trade"];

const QUALITIES: [&str; 12] = [
    "broad",
    "folding",
    "galvanised",
    "garden",
    "heavy",
    "light",
    "long",
    "painted",
    "short",
    "small",
    "steel",
    "wooden",
];
const GOODS: [(&str, &str); 24] = [
    ("axe", "tools"),
    ("barrow", "transport"),
    ("bench", "furniture"),
    ("billhook", "tools"),
    ("bucket", "transport"),
    ("cart", "transport"),
    ("crate", "transport"),
    ("fence post", "fencing"),
    ("gate", "fencing"),
    ("gloves", "clothing"),
    ("hat", "clothing"),
    ("hedge shears", "tools"),
    ("hoe", "tools"),
    ("hurdle", "fencing"),
    ("ladder", "tools"),
    ("lantern", "furniture"),
    ("mallet", "tools"),
    ("rake", "tools"),
    ("rope", "fencing"),
    ("spade", "tools"),
    ("stool", "furniture"),
    ("table", "furniture"),
    ("trellis", "fencing"),
    ("watering can", "tools"),
];

const CARRIERS: [&str; 5] = ["barge", "cart", "courier", "post", "rail"];
const CLERKS: u64 = 1_000;
const REMARK_WORDS: [&str; 32] = [
    "after", "all", "at", "before", "bell", "behind", "call", "careful", "cellar", "collect",
    "deliver", "door", "early", "fragile", "gate", "gently", "leave", "noon", "only", "pack",
    "please", "porch", "ring", "shed", "sign", "stable", "straw", "the", "twice", "with", "wrap",
    "yard",
];
/// A remark has three to ten words.
const REMARK_WORDS_MIN: u64 = 3;
const REMARK_WORDS_SPREAD: u64 = 8;

/// Writes texts into builders and buffers without allocating.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    draw: Draw,
}

impl Names {
    pub(crate) fn new(draw: Draw) -> Self {
        Self { draw }
    }

    pub(crate) fn customer(self, customer: i32, out: &mut impl Write) {
        let first = self.draw.at(Purpose::CustomerName, customer as u64, 0);
        let second = first.next();
        let (a, b) = (first.pick(&PLANTS), second.pick(&PLANTS));
        push(out, &[a, " ", b, " ", second.next().pick(&FIRMS)]);
    }

    pub(crate) fn city(self, customer: i32) -> &'static str {
        self.draw
            .at(Purpose::CustomerName, customer as u64, 1)
            .pick(&CITIES)
    }

    pub(crate) fn segment(self, customer: i32) -> &'static str {
        self.draw
            .at(Purpose::CustomerName, customer as u64, 2)
            .pick(&SEGMENTS)
    }

    pub(crate) fn item(self, item: i32, out: &mut impl Write) {
        let quality = self
            .draw
            .at(Purpose::ItemName, item as u64, 1)
            .pick(&QUALITIES);
        push(out, &[quality, " ", self.goods(item).0]);
    }

    pub(crate) fn category(self, item: i32) -> &'static str {
        self.goods(item).1
    }

    fn goods(self, item: i32) -> (&'static str, &'static str) {
        self.draw.at(Purpose::ItemName, item as u64, 0).pick(&GOODS)
    }

    /// The clerk who takes the order of a step.
    pub(crate) fn clerk(self, step: u64, out: &mut impl Write) {
        let clerk = self.draw.at(Purpose::OrderClerk, step, 0).below(CLERKS);
        let digits = [
            b'0' + (clerk / 100) as u8,
            b'0' + (clerk / 10 % 10) as u8,
            b'0' + (clerk % 10) as u8,
        ];
        push(
            out,
            &[
                "clerk ",
                std::str::from_utf8(&digits).expect("digits are UTF-8"),
            ],
        );
    }

    pub(crate) fn carrier(self, basket: Basket, line: i16) -> &'static str {
        self.draw
            .at(Purpose::BasketCarrier, basket.number(), line as u64)
            .pick(&CARRIERS)
    }

    /// What the customer always writes under this basket.
    pub(crate) fn remark(self, basket: Basket, out: &mut impl Write) {
        let mut drawn = self.draw.at(Purpose::BasketComment, basket.number(), 0);
        let words = REMARK_WORDS_MIN + drawn.below(REMARK_WORDS_SPREAD);
        for word in 0..words {
            drawn = drawn.next();
            push(out, if word == 0 { &[] } else { &[" "] });
            push(out, &[drawn.pick(&REMARK_WORDS)]);
        }
    }
}

/// Writes into memory, which cannot fail.
fn push(out: &mut impl Write, pieces: &[&str]) {
    for piece in pieces {
        out.write_str(piece).expect("memory takes every text");
    }
}
