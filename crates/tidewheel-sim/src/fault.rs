//! [`StoreFault`]: what can go wrong with a commit.
//!
//! When it does is up to the world, what becomes of the rows to [`crate::store`].

/// What goes wrong with the next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// Nothing is stored, and the store says that it could not be reached.
    Unavailable,
    /// The store cannot be reached, however often it is asked.
    Down,
    /// Others have the store for a while, and whoever asks is not made to wait.
    Busy,
    /// Everything is stored, but the answer is lost.
    StoredUnknown,
    /// Nothing is stored, and the answer is lost.
    LostUnknown,
    /// Everything is stored, but no answer ever arrives.
    StoredSilent,
    /// Nothing is stored, and no answer ever arrives.
    LostSilent,
    /// The tenure is over.
    Stale,
    /// Somebody else has taken the tenure, and keeps it for a while.
    Taken,
    /// The process dies before anything is stored.
    DiesBefore,
    /// The process dies after everything is stored.
    DiesAfter,
}

impl StoreFault {
    /// Whether it goes on until it is over for the world.
    #[must_use]
    pub const fn lasts(self) -> bool {
        matches!(
            self,
            Self::Down | Self::Busy | Self::StoredSilent | Self::LostSilent | Self::Taken
        )
    }

    /// What the coverage counters call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "fault: commit unavailable",
            Self::Down => "fault: store down",
            Self::Busy => "fault: store busy",
            Self::StoredUnknown => "fault: commit unknown, stored",
            Self::LostUnknown => "fault: commit unknown, not stored",
            Self::StoredSilent => "fault: commit never answered, stored",
            Self::LostSilent => "fault: commit never answered, not stored",
            Self::Stale => "fault: stale tenure",
            Self::Taken => "fault: tenure taken by another",
            Self::DiesBefore => "fault: crash before commit",
            Self::DiesAfter => "fault: crash after commit",
        }
    }
}
