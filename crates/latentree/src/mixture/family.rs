//! The distribution of the rows of a component.

use std::fmt;
use std::str::FromStr;

use crate::data::{Kind, KindOverride, Schema};
use crate::error::{Error, Result};
use crate::named::counted;

/// How the rows of one component are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MixtureFamily {
    /// Independent Poisson counts.
    Poisson,
    /// Documents: every word is drawn from the document's one topic.
    SingleTopic,
    /// Documents: every word has its own topic, drawn from the document's mixture (latent Dirichlet allocation).
    Lda,
    /// Spherical normal vectors.
    Gaussian,
    /// Independent binary columns.
    Bernoulli,
    /// Independent columns of any kind.
    Categorical,
}

impl MixtureFamily {
    /// All families.
    pub const ALL: [Self; 6] = [Self::Poisson, Self::SingleTopic, Self::Lda, Self::Gaussian, Self::Bernoulli, Self::Categorical];

    /// The name used in options and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::SingleTopic => "single-topic",
            Self::Lda => "lda",
            Self::Gaussian => "gaussian",
            Self::Bernoulli => "bernoulli",
            Self::Categorical => "categorical",
        }
    }

    /// The family suggested by the kinds of the columns: `poisson` for counts, `gaussian` for numbers, `bernoulli` for binary
    /// columns, and `categorical` for other or mixed kinds.
    #[must_use]
    pub fn of(schema: &Schema) -> Self {
        let all = |test: fn(&Kind) -> bool| schema.columns().iter().all(|column| test(&column.kind));
        if all(|kind| matches!(kind, Kind::Count)) {
            Self::Poisson
        } else if all(|kind| matches!(kind, Kind::Continuous)) {
            Self::Gaussian
        } else if all(|kind| matches!(kind, Kind::Binary { .. })) {
            Self::Bernoulli
        } else {
            Self::Categorical
        }
    }

    /// The kind required of all columns, or `None` if any kind is allowed.
    #[must_use]
    pub fn column_kind(self) -> Option<KindOverride> {
        match self {
            Self::Poisson | Self::SingleTopic | Self::Lda => Some(KindOverride::Count),
            Self::Gaussian => Some(KindOverride::Continuous),
            Self::Bernoulli => Some(KindOverride::Binary),
            Self::Categorical => None,
        }
    }

    /// Returns whether rows are counts.
    #[must_use]
    pub fn is_counts(self) -> bool {
        matches!(self, Self::Poisson | Self::SingleTopic | Self::Lda)
    }

    /// Returns whether rows are documents.
    #[must_use]
    pub fn is_topics(self) -> bool {
        matches!(self, Self::SingleTopic | Self::Lda)
    }

    /// Returns whether the moments of a variable with itself can be corrected to those of the model; if not, only moments
    /// between different variables have the right form.
    #[must_use]
    pub fn is_corrected(self) -> bool {
        self.is_counts() || self == Self::Gaussian
    }

    /// Text for warnings about rows without any counts.
    pub(crate) fn told_empty(self, n_rows: u64) -> String {
        let (noun, what) = if self.is_topics() { ("document", "empty") } else { ("row", "all zero") };
        format!("{} {} {what}", counted(n_rows, noun), if n_rows == 1 { "is" } else { "are" })
    }

    /// Checks that all columns are of the kind the family needs.
    ///
    /// # Errors
    /// [`Error::Option`] naming the first column of another kind.
    pub fn check(self, schema: &Schema) -> Result<()> {
        let fits = |kind: &Kind| match self {
            Self::Poisson | Self::SingleTopic | Self::Lda => matches!(kind, Kind::Count),
            Self::Gaussian => matches!(kind, Kind::Continuous),
            Self::Bernoulli => matches!(kind, Kind::Binary { .. }),
            Self::Categorical => true,
        };
        if schema.columns().is_empty() {
            return Err(Error::option("mixture.family", "the table has no columns to learn from"));
        }
        let Some(column) = schema.columns().iter().find(|column| !fits(&column.kind)) else { return Ok(()) };
        let wanted = self.column_kind().map_or("other", KindOverride::name);
        Err(Error::option(
            "mixture.family",
            format!(
                "{self} needs {wanted} columns, but {:?} is {}; declare its kind, leave it out, or use the family categorical, which takes any columns",
                column.name,
                column.kind.name()
            ),
        ))
    }
}

impl fmt::Display for MixtureFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MixtureFamily {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|family| family.name()).collect();
            Error::option("mixture.family", format!("{name:?} is not one of {}", names.join(", ")))
        })
    }
}

crate::named::by_name!(MixtureFamily);
