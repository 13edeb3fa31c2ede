//! Completions and manual pages.

use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory;
use latentree::{Error, Result};
use serde_json::json;

use crate::Failure;
use crate::args::Cli;
use crate::printer::Printer;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "latentree", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

pub(crate) fn manual(directory: &Path, printer: &Printer) -> Result<(), Failure> {
    std::fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
    let mut command = Cli::command();
    command.build();
    let mut pages = vec![command.clone()];
    pages.extend(command.get_subcommands().filter(|verb| verb.get_name() != "help").cloned());
    let mut names = Vec::new();
    for page in pages {
        let name = match page.get_name() {
            "latentree" => "latentree".to_owned(),
            verb => format!("latentree-{verb}"),
        };
        let path = directory.join(format!("{name}.1"));
        latentree::file::write_atomically(&path, |out| {
            clap_mangen::Man::new(page).title(name.to_uppercase()).render(out).map_err(Error::io("write", &path))
        })?;
        names.push(name);
    }
    let json = json!({ "pages": names });
    printer.result(&json, |out| writeln!(out, "{} manual pages written to {}", names.len(), directory.display()))?;
    Ok(())
}
