//! Attempts that are processes of the system.
