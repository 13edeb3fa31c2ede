//! The program from end to end: what it prints, what it writes, how it ends.

mod bad_input;
mod harness;
mod learn;
mod selection;
mod unseen;
mod verbs;
