//! placeholder
/// x
pub fn exercise(_make: impl Fn() -> Box<dyn Fn() -> Box<dyn super::Store>>) {}
