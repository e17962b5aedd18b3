//! What the experiments' figures are drawn with.
//!
//! * [`svg`]: texts, lines and shapes.
//! * [`axis`]: where a value is, and which values are labelled.

pub mod axis;
pub mod svg;
