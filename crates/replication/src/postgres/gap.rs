//! Why the source's log cannot be followed from our position on, and what the answer is.
//!
//! Found at every connect, before a single change is read (see [`super::slot`]). The positions of
//! both sides are compared as they are; the larger of two is never taken for the right one, because
//! that would skip what lies between.
//!
//! The answer is
//! * to refuse, where a process that has just started was pointed at another database;
//! * to copy everything again, where that is asked for and the source is still the one that was
//!   copied, further on (see [`super::copy_again`]);
//! * else to go on serving what was copied, marked as stale.

use std::fmt;

use super::config::OnGap;
use crate::source::SourceError;

/// The kinds of gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapKind {
    /// Another cluster answers.
    OtherSystem,
    /// Another database of the cluster was asked for.
    OtherDatabase,
    /// The cluster began a new timeline: it was promoted, or recovered to a point in time.
    TimelineChanged,
    /// The log ends before our position.
    LogEndsEarly,
    /// There is no slot of our name.
    SlotGone,
    /// The slot has lost log that we need.
    SlotLost,
    /// The slot of our name is somebody else's.
    SlotForeign,
    /// The slot was read further than we have come.
    SlotAhead,
}

impl GapKind {
    /// The kind in lower case, as shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherSystem => "other system",
            Self::OtherDatabase => "other database",
            Self::TimelineChanged => "timeline changed",
            Self::LogEndsEarly => "log ends early",
            Self::SlotGone => "slot gone",
            Self::SlotLost => "slot lost",
            Self::SlotForeign => "slot foreign",
            Self::SlotAhead => "slot ahead",
        }
    }

    /// Whether another database answers than the one that was copied.
    fn is_misdirected(self) -> bool {
        matches!(self, Self::OtherSystem | Self::OtherDatabase)
    }

    /// Whether a copy made now would be of the same source, at a later position, through a slot
    /// that is ours to make.
    fn permits_copy(self) -> bool {
        matches!(
            self,
            Self::TimelineChanged | Self::SlotGone | Self::SlotLost | Self::SlotAhead
        )
    }
}

/// The log cannot be followed from our position on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// What kind of gap it is.
    pub kind: GapKind,
    /// What was found, and what was expected.
    pub detail: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, remedy) = (self.kind.as_str(), self.remedy());
        write!(f, "{kind}: {}. {remedy}", self.detail)
    }
}

impl std::error::Error for Gap {}

impl Gap {
    fn remedy(&self) -> &'static str {
        if self.kind.is_misdirected() {
            "Point Hedgerow at the original server, or start with an empty data directory"
        } else if self.kind.permits_copy() {
            "The copy can no longer be brought up to date: set on-gap = \"copy-again\", or start \
             with an empty data directory"
        } else {
            "The copy can no longer be brought up to date: start with an empty data directory to \
             copy the source again"
        }
    }

    /// What follows from it. `followed`: whether this process has followed the log before.
    pub fn answer(&self, on_gap: OnGap, followed: bool) -> SourceError {
        let reason = self.to_string();
        if self.kind.is_misdirected() && !followed {
            SourceError::Refused(reason)
        } else if on_gap == OnGap::CopyAgain && self.kind.permits_copy() {
            SourceError::BeginAgain(reason)
        } else {
            SourceError::Stale(reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: GapKind, on_gap: OnGap, followed: bool) -> SourceError {
        let detail = "what was found".to_owned();
        Gap { kind, detail }.answer(on_gap, followed)
    }

    #[test]
    fn what_was_copied_is_served_on_unless_a_new_copy_is_asked_for() {
        use GapKind::{LogEndsEarly, SlotForeign, SlotGone, SlotLost};
        for kind in [SlotGone, SlotLost] {
            let (stop, again) = (OnGap::Stop, OnGap::CopyAgain);
            assert!(matches!(answer(kind, stop, false), SourceError::Stale(_)));
            assert!(matches!(
                answer(kind, again, true),
                SourceError::BeginAgain(_)
            ));
        }
        // A copy would lie before what readers have seen, or take another's slot.
        for kind in [LogEndsEarly, SlotForeign] {
            assert!(matches!(
                answer(kind, OnGap::CopyAgain, true),
                SourceError::Stale(_)
            ));
        }
    }

    #[test]
    fn another_database_is_refused_at_the_start_and_makes_stale_later() {
        let (kind, again) = (GapKind::OtherSystem, OnGap::CopyAgain);
        assert!(matches!(
            answer(kind, again, false),
            SourceError::Refused(_)
        ));
        let SourceError::Stale(reason) = answer(kind, again, true) else {
            panic!("readers lose nothing");
        };
        assert!(
            reason.starts_with("other system: what was found"),
            "{reason}"
        );
    }
}
