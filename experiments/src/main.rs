//! experiments
fn main() {}
