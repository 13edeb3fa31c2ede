//! Checks of a command's files before anything is read: no output may be an input or another output, and all must be writable.

use std::path::Path;

use latentree::data::PartFiles;
use latentree::file::{check_writable, is_same_file};
use latentree::{Error, Result};

use super::is_stream;
use crate::data_args::DataArgs;

/// The inputs and outputs of a command, with the names that users know them by.
#[derive(Default)]
pub(super) struct Files<'a> {
    inputs: Vec<(&'static str, &'a Path)>,
    /// Inputs that may be directories or patterns of parts.
    data: Vec<(&'static str, &'a Path)>,
    outputs: Vec<(&'static str, &'a Path)>,
    /// Whether data are text files.
    are_texts: bool,
    /// Whether data are the folder of a clinical data set, of which not every file is read.
    is_clinical: bool,
}

impl<'a> Files<'a> {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// An input file.
    pub(super) fn input(mut self, name: &'static str, path: &'a Path) -> Self {
        self.inputs.push((name, path));
        self
    }

    /// An optional input file.
    pub(super) fn input_if(mut self, name: &'static str, path: Option<&'a Path>) -> Self {
        self.inputs.extend(path.map(|path| (name, path)));
        self
    }

    /// Input data: a file, or parts.
    pub(super) fn data(self, name: &'static str, path: &'a Path) -> Self {
        self.data_if(name, Some(path))
    }

    /// Optional input data.
    pub(super) fn data_if(mut self, name: &'static str, path: Option<&'a Path>) -> Self {
        self.data.extend(path.map(|path| (name, path)));
        self
    }

    /// The files of the reading options.
    pub(super) fn reading(mut self, args: &'a DataArgs) -> Self {
        self.are_texts |= args.text && args.column.is_none();
        self.is_clinical = args.meds || args.omop;
        self.input_if("--names", args.names.as_deref())
            .input_if("--schema", args.schema.as_deref())
            .input_if("--group", args.group.as_ref().map(|group| group.file()))
            .input_if("--rollup", args.rollup.as_ref().map(|rollup| rollup.file()))
            .input_if("--descriptions", args.descriptions.as_ref().map(|descriptions| descriptions.file()))
            .input_if("--subjects", args.subjects.as_deref())
    }

    /// An output file.
    pub(super) fn output(mut self, name: &'static str, path: &'a Path) -> Self {
        self.outputs.push((name, path));
        self
    }

    /// An optional output file.
    pub(super) fn output_if(mut self, name: &'static str, path: Option<&'a Path>) -> Self {
        self.outputs.extend(path.map(|path| (name, path)));
        self
    }

    /// Fails if an output would overwrite an input or another output, would later be read as a part of the data, or is not writable.
    pub(super) fn check(self) -> Result<()> {
        if self.outputs.is_empty() {
            return Ok(());
        }
        let mut inputs = self.inputs;
        let mut parts: Vec<(&'static str, PartFiles)> = Vec::new();
        for (name, path) in self.data {
            if self.is_clinical && path.is_dir() {
                continue;
            }
            let found = if self.are_texts { PartFiles::find_all(path)? } else { PartFiles::find(path)? };
            match found {
                None => inputs.push((name, path)),
                Some(files) => parts.push((name, files)),
            }
        }
        let of_parts = parts.iter().flat_map(|(name, files)| files.files().iter().map(|file| (*name, file.as_path())));
        inputs.extend(of_parts);
        for (ix, &(name, path)) in self.outputs.iter().enumerate() {
            if let Some((input, read)) = inputs.iter().find(|(_, read)| is_same_file(path, read)) {
                let problem = if *read == path {
                    format!("{} is read as {input} and would be overwritten; write to another file", path.display())
                } else {
                    format!(
                        "{} is the same file as {}, which is read as {input} and would be overwritten; write to another file",
                        path.display(),
                        read.display()
                    )
                };
                return Err(Error::option(name, problem));
            }
            if let Some((input, files)) = parts.iter().find(|(_, files)| !is_stream(path) && files.would_take(path)) {
                let problem = format!(
                    "{} would become a part of {}, which is read as {input}; write it elsewhere",
                    path.display(),
                    files.path().display()
                );
                return Err(Error::option(name, problem));
            }
            let is_same = |other: &Path| is_same_file(path, other) || (is_stream(path) && is_stream(other));
            if let Some((other, _)) = self.outputs[..ix].iter().find(|(_, other)| is_same(other)) {
                let place = if is_stream(path) { "standard output".to_owned() } else { path.display().to_string() };
                return Err(Error::option(
                    name,
                    format!("{place} is the same place as {other}; use a different file for each output"),
                ));
            }
        }
        self.outputs.iter().try_for_each(|(_, path)| check_writable(path))
    }
}
