//! How the options of text become the library's.

use latentree::data::{DocumentLimit, TextOptions};
use latentree::{Error, Result};

use crate::data_args::DataArgs;

/// What `--text` and the options that belong to it ask for; `None` without it.
pub(crate) fn text_options(args: &DataArgs) -> Result<Option<TextOptions>> {
    let given = [
        ("--column", args.column.is_some()),
        ("--split", args.split.is_some()),
        ("--stop", args.stop.is_some()),
        ("--min-df", args.min_df.is_some()),
        ("--max-df", args.max_df.is_some()),
    ];
    if !args.text {
        return match given.iter().find(|it| it.1) {
            Some((option, _)) => Err(Error::option(*option, "it is an option for reading text; add --text, or leave it out")),
            None => Ok(None),
        };
    }
    let limit = |text: &Option<String>, option: &str| text.as_deref().map(|it| DocumentLimit::parse(option, it)).transpose();
    let mut options = TextOptions::default();
    options.column.clone_from(&args.column);
    options.split.clone_from(&args.split);
    if let Some(stop) = &args.stop {
        options.stop = stop.parse()?;
    }
    options.min_df = limit(&args.min_df, "read.min_df")?;
    options.max_df = limit(&args.max_df, "read.max_df")?;
    options.coverage = args.coverage;
    Ok(Some(options))
}
