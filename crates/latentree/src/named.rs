//! Options: values with names, and messages that refer to options.

/// Serialises a type as its `name()` and reads it by its `FromStr`.
macro_rules! by_name {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                name.parse::<Self>().map_err(|error| serde::de::Error::custom(error.problem()))
            }
        }
    };
}

pub(crate) use by_name;

/// A number and what it counts, which ends in "s" unless there is one of it: `1 row`, `2 rows`.
///
/// # Example
/// ```
/// assert_eq!(latentree::counted(1_usize, "column"), "1 column");
/// assert_eq!(latentree::counted(0_u64, "column"), "0 columns");
/// ```
#[must_use]
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let ending = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{ending}")
}

/// A message with its options spelled as a shell's users write them.
///
/// The library names options by their paths, in backticks: `` `em.smoothing`: -1 given ``. `spell` gives what to write for a
/// path, without the backticks; what it does not know stays as it is.
///
/// # Example
/// ```
/// let message = "use `parameters.method` em, not `that`";
/// let spell = |path: &str| (path == "parameters.method").then(|| "--parameters".to_owned());
/// assert_eq!(latentree::spelled(message, spell), "use --parameters em, not `that`");
/// ```
#[must_use]
pub fn spelled(message: &str, spell: impl Fn(&str) -> Option<String>) -> String {
    let is_path = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_lowercase() || b"_.-".contains(&it));
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find('`') {
        let after = &rest[at + 1..];
        let spelling = after.find('`').map(|end| (&after[..end], &after[end + 1..])).filter(|(path, _)| is_path(path));
        match spelling.and_then(|(path, next)| Some((spell(path)?, next))) {
            Some((spelling, next)) => {
                text.push_str(&rest[..at]);
                text.push_str(&spelling);
                rest = next;
            }
            None => {
                text.push_str(&rest[..=at]);
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}
