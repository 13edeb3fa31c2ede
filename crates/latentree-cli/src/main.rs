//! The `latentree` program.

use std::process::ExitCode;

use latentree_cli::{Signals, main_with};

fn main() -> ExitCode {
    main_with(std::env::args_os(), Signals::Catch).into()
}
