//! The program from end to end: what it prints, what it writes, how it ends.

mod bad_input;
mod clinical;
mod federate;
mod files;
mod groups;
mod harness;
mod interrupt;
mod learn;
mod meaning;
mod mixture;
mod moments_for_tree;
mod parts;
mod rows;
mod selection;
mod spectral;
mod topics;
mod unseen;
mod verbs;
mod weights;
