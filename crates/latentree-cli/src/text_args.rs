//! How the options of text become the library's.

use latentree::data::TextOptions;
use latentree::{Error, Result};

use crate::args::DataArgs;

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
            Some((option, _)) => Err(Error::option(*option, "it tells how text is read; add --text, or leave it out")),
            None => Ok(None),
        };
    }
    let limit = |text: &Option<String>, option: &str| {
        let parse = |text: &String| {
            text.parse().map_err(|error| match error {
                Error::Option { problem, .. } => Error::option(option, problem),
                other => other,
            })
        };
        text.as_ref().map(parse).transpose()
    };
    let mut options = TextOptions::default();
    options.column.clone_from(&args.column);
    options.split.clone_from(&args.split);
    if let Some(stop) = &args.stop {
        options.stop = stop.parse()?;
    }
    options.min_df = limit(&args.min_df, "--min-df")?;
    options.max_df = limit(&args.max_df, "--max-df")?;
    options.coverage = args.coverage;
    Ok(Some(options))
}
