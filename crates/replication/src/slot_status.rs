//! What a source keeps of its log for us, and when to raise an alarm about it.
//!
//! A source that cannot forget its log fills its disk; one that forgets it too early makes the copy
//! worthless. Both are announced by a named alarm before they happen, the worst one first:
//!
//! | alarm | meaning |
//! |---|---|
//! | `slot gone` | there is no slot of our name |
//! | `slot lost` | the source has removed log that we need |
//! | `slot unreserved` | the source may remove it at its next checkpoint |
//! | `slot near its limit` | less than a quarter of what the source may keep is left |
//! | `much log retained` | the source keeps more than the configured number of bytes |
//!
//! Does not: ask the source (see [`crate::postgres`]), or do anything about it.

use std::time::Duration;

use types::CommitPosition;

/// An alarm is raised when less than one part in so many of the limit is left.
const LEFT_PARTS: u64 = 4;

/// The source's side of our slot, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotStatus {
    /// The slot's name.
    pub name: String,
    /// PostgreSQL's word for how safe the log is: `reserved`, `extended`, `unreserved` or `lost`;
    /// `None` where there is no such slot.
    pub wal_status: Option<String>,
    /// Why PostgreSQL has invalidated it, if it did and says so.
    pub invalidation: Option<String>,
    /// Whether it is being read.
    pub active: bool,
    /// Log that the source keeps for it, bytes.
    pub retained_bytes: u64,
    /// Log that may still be written before the slot can be lost, bytes; `None` without a limit.
    pub safe_bytes: Option<u64>,
    /// Where the source's log ends.
    pub log_end: CommitPosition,
    /// What is wrong, in a word.
    pub alarm: Option<SlotAlarm>,
    /// When this was seen, on the monotonic clock.
    pub seen_at: Duration,
}

/// Something is wrong with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotAlarm {
    /// There is none of our name.
    Gone,
    /// Log that we need was removed.
    Lost,
    /// Log that we need may be removed at the next checkpoint.
    Unreserved,
    /// Little is left until then.
    NearLimit,
    /// The source keeps more than it was meant to.
    MuchRetained,
}

impl SlotAlarm {
    /// Every alarm, the worst first.
    pub const ALL: [Self; 5] = [
        Self::Gone,
        Self::Lost,
        Self::Unreserved,
        Self::NearLimit,
        Self::MuchRetained,
    ];

    /// The alarm in lower case, as shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "slot gone",
            Self::Lost => "slot lost",
            Self::Unreserved => "slot unreserved",
            Self::NearLimit => "slot near its limit",
            Self::MuchRetained => "much log retained",
        }
    }
}

impl SlotStatus {
    /// The worst alarm that there is reason for, where the source should keep at most
    /// `retained_bytes_max`.
    pub fn worst(&self, retained_bytes_max: u64) -> Option<SlotAlarm> {
        match self.wal_status.as_deref() {
            None => return Some(SlotAlarm::Gone),
            Some("lost") => return Some(SlotAlarm::Lost),
            Some("unreserved") => return Some(SlotAlarm::Unreserved),
            Some(_) if self.invalidation.is_some() => return Some(SlotAlarm::Lost),
            Some(_) => {}
        }
        let limit = self
            .safe_bytes
            .map(|left| self.retained_bytes.saturating_add(left));
        let is_near = limit
            .zip(self.safe_bytes)
            .is_some_and(|(limit, left)| left < limit / LEFT_PARTS);
        if is_near {
            Some(SlotAlarm::NearLimit)
        } else {
            (self.retained_bytes > retained_bytes_max).then_some(SlotAlarm::MuchRetained)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn slot(wal_status: Option<&str>, retained_bytes: u64, safe_bytes: Option<u64>) -> SlotStatus {
        SlotStatus {
            name: "s".into(),
            wal_status: wal_status.map(str::to_owned),
            invalidation: None,
            active: true,
            retained_bytes,
            safe_bytes,
            log_end: CommitPosition::ZERO,
            alarm: None,
            seen_at: Duration::ZERO,
        }
    }

    #[test]
    fn the_worst_reason_for_an_alarm_is_named() {
        let alarm = |status, retained, safe| slot(status, retained, safe).worst(100 * MIB);
        let reserved = Some("reserved");
        assert_eq!(alarm(reserved, MIB, None), None);
        assert_eq!(alarm(reserved, 75 * MIB, Some(25 * MIB)), None);
        let near = Some(SlotAlarm::NearLimit);
        assert_eq!(alarm(Some("extended"), 76 * MIB, Some(24 * MIB)), near);
        let much = Some(SlotAlarm::MuchRetained);
        assert_eq!(alarm(reserved, 101 * MIB, None), much);
        assert_eq!(alarm(reserved, 101 * MIB, Some(20 * MIB)), near);
        let unreserved = Some(SlotAlarm::Unreserved);
        assert_eq!(alarm(Some("unreserved"), 0, Some(0)), unreserved);
        assert_eq!(alarm(Some("lost"), 0, None), Some(SlotAlarm::Lost));
        assert_eq!(alarm(None, 0, None), Some(SlotAlarm::Gone));
    }

    #[test]
    fn an_invalidated_slot_is_lost_whatever_its_log() {
        let mut slot = slot(Some("reserved"), 0, None);
        slot.invalidation = Some("idle_timeout".into());
        assert_eq!(slot.worst(MIB), Some(SlotAlarm::Lost));
    }
}
