//! [`Document`]: an outermost object, which can say its version.
//!
//! What the documents hold is in the files beside this one.

/// A document of the contract.
///
/// The version is said where the reader may be of another age, as over HTTP. The command leaves it out: it
/// and its reader's idea of it come from one manual.
pub trait Document: Sized {
    /// The word for it.
    const NAME: &'static str;
    /// Its version now.
    const VERSION: u32;

    /// The place of the version.
    fn version(&mut self) -> &mut Option<u32>;

    /// The document with its version.
    #[must_use]
    fn versioned(mut self) -> Self {
        *self.version() = Some(Self::VERSION);
        self
    }
}

/// Makes documents of types with a field `version`.
macro_rules! documents {
    ($($document:ty: $name:literal $version:literal),* $(,)?) => {
        $(impl $crate::api::Document for $document {
            const NAME: &'static str = $name;
            const VERSION: u32 = $version;

            fn version(&mut self) -> &mut Option<u32> {
                &mut self.version
            }
        })*
    };
}

pub(super) use documents;
