//! Known models and data from them.
