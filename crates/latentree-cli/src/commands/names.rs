//! Names of nodes in arguments: `a=1,b=x` and `a,b`, where a name may contain a comma or an equals sign.

use latentree::{Error, Result};

/// Splits `a=1,b=x` into names and values. The longest name that `is_known` wins, so that `x,y=1` is about `x,y` if there is such a
/// name. `may_be` is asked where no name is known. A part without a name belongs to the value before it.
pub(super) fn assignments(
    text: &str,
    is_known: &dyn Fn(&str) -> bool,
    may_be: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = Some(text);
    while let Some(from) = rest {
        let part = from.split(',').next().unwrap_or(from);
        let longest = |within: &str, is_it: &dyn Fn(&str) -> bool| {
            within.rmatch_indices('=').map(|it| it.0).find(|&at| is_it(from[..at].trim()))
        };
        let at = longest(from, is_known).or_else(|| longest(part, may_be)).or_else(|| part.find('='));
        let end = |begin: usize| from[begin..].find(',').map_or(from.len(), |comma| begin + comma);
        let end = match (at, found.last_mut()) {
            (Some(at), _) => {
                let end = end(at);
                found.push((from[..at].trim().to_owned(), from[at + 1..end].trim().to_owned()));
                end
            }
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(part);
                part.len()
            }
            (None, None) => {
                let problem = format!("{part:?} is not name=value, and no name of the model begins so; names are case-sensitive");
                return Err(Error::option("--given", problem));
            }
        };
        rest = from.get(end + 1..);
    }
    Ok(found)
}

/// Splits `a,b` into names. The longest name that `is_known` wins; `may_be` is asked where no name is known.
pub(super) fn listed<'a>(text: &'a str, is_known: &dyn Fn(&str) -> bool, may_be: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = Some(text);
    while let Some(from) = rest {
        let commas = from.rmatch_indices(',').map(|it| it.0);
        let ends = || std::iter::once(from.len()).chain(commas.clone());
        let known = ends().find(|&end| is_known(from[..end].trim())).or_else(|| ends().find(|&end| may_be(from[..end].trim())));
        let end = known.or_else(|| from.find(',')).unwrap_or(from.len());
        found.push(from[..end].trim());
        rest = from.get(end + 1..);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, names: &[&str]) -> Vec<(String, String)> {
        assignments(text, &|name| names.contains(&name), &|_| false).unwrap()
    }

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn known_names_may_contain_commas_and_equals_signs() {
        let names = ["x,y", "a", "b=c", "p = q, r"];
        assert_eq!(split("a=1,x,y=2,b=c=3", &names), pairs(&[("a", "1"), ("x,y", "2"), ("b=c", "3")]));
        assert_eq!(split("p = q, r = 5, a = 1", &names), pairs(&[("p = q, r", "5"), ("a", "1")]));
        assert_eq!(split("x,y=1", &names), pairs(&[("x,y", "1")]));
    }

    #[test]
    fn values_may_contain_commas_and_unknown_names_end_at_the_first_equals_sign() {
        assert_eq!(split("a=one, two,x,y=2", &["a", "x,y"]), pairs(&[("a", "one, two"), ("x,y", "2")]));
        assert_eq!(split("z=1=2,a=3", &["a"]), pairs(&[("z", "1=2"), ("a", "3")]));
        assert!(assignments("x,z=1", &|_| false, &|_| false).is_err());
    }

    #[test]
    fn a_list_prefers_the_longest_known_name() {
        let known = |names: &'static [&'static str]| move |name: &str| names.contains(&name);
        assert_eq!(listed("x,y,a", &known(&["x,y", "x", "a"]), &|_| false), ["x,y", "a"]);
        assert_eq!(listed(" a , b", &known(&["a"]), &|_| false), ["a", "b"]);
        assert_eq!(listed("h, k", &known(&[]), &|name| name == "h, k"), ["h, k"]);
    }
}
