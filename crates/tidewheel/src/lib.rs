//! Tidewheel.
