//! The flags of `learn` that set [`LearnOptions`]. A new flag needs only one line here.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use latentree::learn::LearnOptions;
use serde_json::Value;

/// A flag and the option that it sets.
pub(crate) struct LearnFlag {
    /// The option's path in [`LearnOptions`].
    pub(crate) path: &'static str,
    /// The flag, without its dashes.
    pub(crate) flag: &'static str,
    value: &'static str,
    help: &'static str,
}

const fn flag(path: &'static str, flag: &'static str, value: &'static str, help: &'static str) -> LearnFlag {
    LearnFlag { path, flag, value, help }
}

/// All flags, in the order of the help.
#[rustfmt::skip]
pub(crate) const LEARN_FLAGS: [LearnFlag; 24] = [
    flag("structure.learner", "structure", "NAME", "Learner: auto, likelihood, chow-liu, nj, snj, rg, clrg, clnj, clblind, plrg, reg-clrg, reg-clnj, hclt, levels or chain (one hidden node for each column, in the order of the columns, as for positions of a sequence); average-linkage, complete-linkage or single-linkage, for comparison [default: auto]"),
    flag("distance.estimator", "distance", "NAME", "Distance estimator: auto, gaussian, logdet, multivariate, symmetric or canonical [default: auto]"),
    flag("parameters.hidden_states", "hidden-states", "K|auto", "Number of states of the hidden variables, 2 to 1000, or auto to choose it for each hidden variable by BIC or held-out log-likelihood; with --parameters spectral or hierarchical, the dimensions of every edge, and auto as many as the data support [default: auto if the tree is searched for; otherwise 2, or Gaussian hidden variables if all columns are continuous]"),
    flag("parameters.states", "states", "H3=4,H7=3", "Numbers of states of individual hidden nodes of the --tree, 2 to 1000; the others have --hidden-states"),
    flag("distance.significance", "significance", "Z", "Minimum significance, in standard errors, for a dependence to connect two variables; larger values isolate weak variables, 0 keeps everything in one tree [default: 2]"),
    flag("distance.smoothing", "smoothing", "WEIGHT", "Pseudo-count added to each cell of label tables [default: 0]"),
    flag("structure.epsilon", "epsilon", "LENGTH", "Tolerance for distances within a family (rg, clrg, plrg) [default: three standard errors]"),
    flag("structure.tau", "tau", "LENGTH", "Maximum distance used to find families (rg, clrg, plrg) [default: from standard errors]"),
    flag("structure.contract", "contract", "CORRELATION", "Merge adjacent nodes whose correlation exceeds this; none or 0 merges none [default: 0.9; none for auto and likelihood; only edges of length zero with --distances]"),
    flag("structure.bootstrap", "bootstrap", "N", "Share of this many bootstrap replicates that have each split, 1 to 100000"),
    flag("structure.collapse", "collapse", "SUPPORT", "Remove splits with less support than this, 0 to 1; 0 removes none [default: 0.5, unless the removal lowers BIC; none with --tree or a named --structure]"),
    flag("parameters.method", "parameters", "HOW", "Method for the parameters: auto, moments+em, moments, em, distances, spectral, hierarchical or none; spectral and hierarchical models answer about the columns and have no hidden states [default: auto]"),
    flag("parameters.decomposition", "decomposition", "NAME", "Decomposition of third moments: sidiwo, tpm, svd, svtd or als [default: sidiwo]"),
    flag("parameters.alignment", "alignment", "NAME", "How hidden states from moments are aligned between tables: linear (by construction) or huang (triplets, aligned afterwards with sampled states) [default: linear]"),
    flag("parameters.linkers", "linkers", "NAME", "What stands for a branch in --parameters spectral: stacked (all of its variables) or single (one) [default: stacked]"),
    flag("em.start", "start", "NAME", "Starting point of EM: moments, lcm (the classes of a latent class model in every hidden node) or random [default: moments; lcm for --parameters em]"),
    flag("em.restarts", "restarts", "N", "Number of EM starts (lcm and random), 1 to 10000; half as many in a search by BIC [default: 5]"),
    flag("em.iterations", "em-iterations", "N", "Maximum number of EM passes over the rows, up to 1000000 [default: 500]"),
    flag("em.tolerance", "em-tolerance", "GAIN", "Stop EM when the relative gain in log-likelihood falls below this [default: 1e-7]"),
    flag("em.smoothing", "em-smoothing", "WEIGHT", "Pseudo-count that EM adds to every cell of its tables [default: 0.01, up to 0.1 in a search over fewer than 2,000 rows; searched over with --select validation]"),
    flag("selection.validation", "validation", "FILE|FRACTION", "Validation rows: EM stops when their log-likelihood stops rising. A file with the same columns, or a fraction of the rows such as 0.1"),
    flag("selection.criterion", "select", "CRITERION", "Search for the best tree (with --structure auto) and numbers of states by this: bic, validation (the likelihood of the --validation rows), or none: learn one tree [default: bic; validation with --validation]"),
    flag("selection.effort", "effort", "EFFORT", "How much work the search does, counted in work and not in seconds: quick (no search), normal or thorough [default: normal]"),
    flag("selection.accept", "accept", "V3,V7", "With reg-clrg and reg-clnj, accept only the candidates of these inner nodes"),
];

/// The path of the option that a flag, without its dashes, sets.
pub(crate) fn path_of(flag: &str) -> Option<&'static str> {
    LEARN_FLAGS.iter().find(|it| it.flag == flag).map(|it| it.path)
}

/// The options that were given, by their paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct LearnOptionArgs {
    given: Vec<(&'static str, Value)>,
}

impl LearnOptionArgs {
    /// The given value of an option.
    pub(crate) fn get(&self, path: &str) -> Option<&Value> {
        self.given.iter().find(|(given, _)| *given == path).map(|(_, value)| value)
    }

    /// Sets the given options, except for some paths.
    pub(crate) fn apply(&self, options: &mut LearnOptions, except: &[&str]) -> latentree::Result<()> {
        let given = self.given.iter().filter(|(path, _)| !except.contains(path));
        given.clone().try_for_each(|(path, value)| options.set(path, value.clone()))
    }
}

impl Args for LearnOptionArgs {
    fn augment_args(command: Command) -> Command {
        LEARN_FLAGS.iter().fold(command, |command, flag| {
            let arg = Arg::new(flag.flag).long(flag.flag).value_name(flag.value).help(flag.help).action(ArgAction::Set);
            command.arg(if is_list(flag.value) { arg.value_delimiter(',') } else { arg })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LearnOptionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        for flag in &LEARN_FLAGS {
            if let Some(texts) = matches.get_many::<String>(flag.flag) {
                let mut values: Vec<Value> =
                    texts.map(|text| if is_list(flag.value) { text.as_str().into() } else { read(text) }).collect();
                let value = if is_list(flag.value) { Value::from(values) } else { values.pop().unwrap_or_default() };
                given.push((flag.path, value));
            }
        }
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether a flag takes several comma-separated names.
fn is_list(value: &str) -> bool {
    value.contains(',')
}

/// The text as a number if it is one.
fn read(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), ..) => whole.into(),
        (_, Ok(whole), _) => whole.into(),
        (.., Ok(number)) if number.is_finite() => number.into(),
        _ => text.into(),
    }
}

/// Replaces the paths of options in a message by flags.
pub(crate) fn with_flags(message: &str) -> String {
    const OTHERS: [&str; 10] =
        ["federate", "read", "learn", "sample", "export", "read_model", "impute", "classify", "mixture", "cluster"];
    latentree::spelled(message, |path| {
        // Errors of the command line itself already name flags.
        if path.starts_with('-') || path == "output" {
            return Some(path.to_owned());
        }
        let learn = LEARN_FLAGS.iter().find(|flag| flag.path == path).map(|flag| flag.flag.to_owned());
        let is_other = path.split_once('.').is_some_and(|(first, _)| OTHERS.contains(&first));
        let last = || path.rsplit('.').next().unwrap_or(path).replace('_', "-");
        learn.or_else(|| (is_other || path == "weight_kind" || path == "seed").then(last)).map(|flag| format!("--{flag}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options without a flag, and those whose flag belongs to all commands or to reading.
    const WITHOUT_FLAG: [&str; 4] = ["distance.clip", "distance.rare_weight", "seed", "weight_kind"];

    #[test]
    fn every_option_has_a_flag_and_every_flag_an_option() {
        let mut flags: Vec<&str> = LEARN_FLAGS.iter().map(|flag| flag.path).chain(WITHOUT_FLAG).collect();
        let mut paths = LearnOptions::paths();
        flags.sort_unstable();
        paths.sort_unstable();
        assert_eq!(flags, paths);
    }

    #[test]
    fn messages_name_flags() {
        assert_eq!(with_flags("`em.smoothing`: use `read.min_count` or `x.y`"), "--em-smoothing: use --min-count or `x.y`");
    }
}
