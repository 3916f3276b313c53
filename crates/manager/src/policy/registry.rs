//! The policies that there are, and a user's choice among them.

use std::str::FromStr;

use super::spec::{Domain, Parameter, Spec, Value, Values};
use super::{BUILT_IN, Policy};

/// Policies by name: those of this crate, and what a program adds to them.
///
/// ```
/// use foresee_manager::policy::{Registry, Spec};
///
/// fn names(of_ones_own: &'static Spec) -> Result<Registry, String> {
///     let registry = Registry::default().with(of_ones_own)?;
///     // Built upon one of this crate, which has parameters of its own.
///     registry.choose("readahead:keep=pcc,keep.onward=0")?;
///     Ok(registry)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Registry(Vec<&'static Spec>);

/// The policies of this crate.
impl Default for Registry {
    fn default() -> Self {
        Registry(BUILT_IN.to_vec())
    }
}

impl Registry {
    /// With one policy more.
    ///
    /// # Errors
    /// If there is one of this name, or a name in the spec is none that a choice could hold.
    pub fn with(mut self, spec: &'static Spec) -> Result<Self, String> {
        if self.find(spec.name).is_ok() {
            return Err(format!("there is a policy '{}' already", spec.name));
        }
        let is_name =
            |name: &str| !name.is_empty() && !name.contains(|it: char| ":,=.".contains(it) || it.is_whitespace());
        let mut names = spec.parameters.iter().map(|parameter| parameter.name).chain([spec.name]);
        if let Some(name) = names.find(|name| !is_name(name)) {
            return Err(format!("'{name}' is no name: users write NAME:PARAMETER=VALUE,PARAMETER.PARAMETER=VALUE"));
        }
        self.0.push(spec);
        Ok(self)
    }

    /// All of them.
    pub fn specs(&self) -> &[&'static Spec] {
        &self.0
    }

    /// The policy of this name; an error lists those that there are.
    fn find(&self, name: &str) -> Result<&'static Spec, String> {
        self.0.iter().find(|spec| spec.name == name).copied().ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(|spec| spec.name).collect();
            format!("there is no policy '{name}'; there are: {}", names.join(", "))
        })
    }

    /// What a user chose, as in `tip1:unread_share=0.25` or `readahead:keep=pcc,keep.onward=0`.
    ///
    /// # Errors
    /// If there is no such policy, parameter or value: a sentence that says what there is.
    pub fn choose(&self, text: &str) -> Result<Choice, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let spec = self.find(name)?;
        let setting = |setting| {
            str::split_once(setting, '=').ok_or_else(|| format!("'{setting}' is not of the form parameter=value"))
        };
        let settings: Vec<_> =
            settings.split(',').filter(|it| !it.is_empty()).map(setting).collect::<Result<_, _>>()?;
        for (at, (key, _)) in settings.iter().enumerate() {
            if settings[..at].iter().any(|(before, _)| before == key) {
                return Err(format!("'{text}' sets {key} twice; leave one of them out"));
            }
        }
        Ok(Choice { text: text.to_owned(), values: self.values(spec, &settings)? })
    }

    /// A policy's values as set, and else by default.
    fn values(&self, spec: &'static Spec, settings: &[(&str, &str)]) -> Result<Values, String> {
        for &(key, _) in settings {
            let (own, of_part) = key.split_once('.').map_or((key, None), |(own, of_part)| (own, Some(of_part)));
            let parameter = spec.parameters.iter().find(|parameter| parameter.name == own).ok_or_else(|| {
                let names: Vec<_> = spec.parameters.iter().map(|parameter| parameter.name).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!("policy {} has no parameter '{own}'; it has: {names}", spec.name)
            })?;
            if let (Some(of_part), Domain::Number { .. } | Domain::Whole { .. }) = (of_part, parameter.domain) {
                return Err(format!("{}'s {own} is a number, and has no parameter '{of_part}'", spec.name));
            }
        }
        let values = spec.parameters.iter().map(|parameter| self.value(spec, parameter, settings));
        Ok(Values { spec, values: values.collect::<Result<_, _>>()? })
    }

    fn value(&self, spec: &Spec, parameter: &Parameter, settings: &[(&str, &str)]) -> Result<Value, String> {
        let set = settings.iter().rev().find(|(key, _)| *key == parameter.name).map(|&(_, value)| value);
        let is_none = |value: &str, wanted: String| {
            Err(format!("'{value}' is no value of {}'s {}: {wanted}", spec.name, parameter.name))
        };
        match parameter.domain {
            Domain::Number { default, min, max } => {
                let Some(set) = set else { return Ok(Value::Number(default)) };
                let number = set.parse().ok().filter(|number| (min..=max).contains(number));
                number.map_or_else(|| is_none(set, format!("a number from {min} to {max}")), |it| Ok(Value::Number(it)))
            }
            Domain::Whole { default, min, max } => {
                let Some(set) = set else { return Ok(Value::Number(default)) };
                let is_whole = |number: &f64| (min..=max).contains(number) && number.fract() == 0.0;
                let number = set.parse().ok().filter(is_whole);
                let wanted = || is_none(set, format!("a whole number from {min} to {max}"));
                number.map_or_else(wanted, |it| Ok(Value::Number(it)))
            }
            Domain::Policy { default } => {
                // A default may set parameters of its own, which are no more than that.
                let (name, defaults) = match (set, default.split_once(':')) {
                    (Some(name), _) => (name, ""),
                    (None, Some((name, defaults))) => (name, defaults),
                    (None, None) => (default, ""),
                };
                let part = match self.find(name) {
                    Ok(part) => part,
                    Err(wanted) => return is_none(name, wanted),
                };
                let of_part = |&(key, value): &(_, _)| {
                    let key = str::strip_prefix(key, parameter.name)?.strip_prefix('.')?;
                    Some((key, value))
                };
                let defaults = defaults.split(',').filter_map(|setting| setting.split_once('='));
                let settings: Vec<_> = defaults.chain(settings.iter().filter_map(of_part)).collect();
                let values = self.values(part, &settings)?;
                if !values.build().holds_a_part() {
                    return is_none(
                        name,
                        "a policy that neither fetches ahead by itself nor knows the future".to_owned(),
                    );
                }
                Ok(Value::Policy(values))
            }
        }
    }
}

/// A policy with its parameters, as a user chose it: `lru`,
/// `tip1:unread_share=0.25,count_present=0`. Parsed from text, it is one of this crate;
/// [`Registry::choose`] knows others.
#[derive(Debug, Clone)]
pub struct Choice {
    text: String,
    pub(super) values: Values,
}

impl Choice {
    /// The registry entry.
    pub fn spec(&self) -> &'static Spec {
        self.values.spec
    }

    /// The choice as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it needs to know the future: see [`Nature::is_offline`](super::Nature::is_offline).
    pub fn is_offline(&self) -> bool {
        self.build().nature().is_offline
    }

    /// Why a part of all blocks in as much of the memory would not miss as all do, if it would not:
    /// for the policy's own reason, or for that of a policy it is made of.
    pub fn unlike_a_part(&self) -> Option<&'static str> {
        self.values.unlike_a_part()
    }

    /// Makes the policy.
    pub fn build(&self) -> Box<dyn Policy> {
        self.values.build()
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Registry::default().choose(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Choice>().expect_err(text)
    }

    #[test]
    fn a_part_has_parameters_of_its_own() {
        // In any order, and for a policy that is not named.
        for text in [
            "readahead:keep=pcc,keep.onward=0",
            "readahead:keep.onward=0,keep=pcc",
            "readahead:keep=pcc,keep.other=2q,keep.other.recent=0.5",
            "pcc:other=slru,other.segments=2,threshold=3",
        ] {
            let choice: Choice = text.parse().expect(text);
            assert_eq!(choice.as_str(), text);
        }
        let nested: Choice = "readahead:keep=pcc,keep.other=2q,keep.other.recent=0.5".parse().expect("nested twice");
        let part = |values: &Values, name| match values.value(name) {
            Some(Value::Policy(values)) => values.clone(),
            other => panic!("{other:?}"),
        };
        let other = part(&part(&nested.values, "keep"), "other");
        assert_eq!((other.spec.name, other.get("recent"), other.get("ghosts")), ("2q", 0.5, 0.5));
        // What a default sets counts unless it is set, or another policy is.
        static NESTED: Spec = Spec {
            name: "nested",
            summary: "",
            source: "",
            unlike_a_part: None,
            parameters: &[Parameter { name: "keep", help: "", domain: Domain::Policy { default: "pcc:other=arc" } }],
            build: |values| values.policy("keep"),
        };
        let registry = Registry::default().with(&NESTED).expect("a new name");
        for (text, wanted) in [
            ("nested", "arc"),
            ("nested:keep.onward=0", "arc"),
            ("nested:keep.other=slru", "slru"),
            ("nested:keep=pcc", "lru"),
        ] {
            let choice = registry.choose(text).expect(text);
            assert_eq!(part(&part(&choice.values, "keep"), "other").spec.name, wanted, "{text}");
        }
    }

    #[test]
    fn errors_name_the_policy_that_they_are_of() {
        for (text, wanted) in [
            ("readahead:keep=pcc,keep.inward=0", "policy pcc has no parameter 'inward'; it has: threshold, sample"),
            ("readahead:keep=pcc,keep.onward=2", "'2' is no value of pcc's onward: a whole number from 0 to 1"),
            ("readahead:keep.onward=0", "policy lru has no parameter 'onward'; it has: none"),
            ("readahead:threshold.onward=0", "readahead's threshold is a number, and has no parameter 'onward'"),
            ("readahead:keep=pcc,keep.other=best", "'best' is no value of pcc's other: there is no policy 'best'"),
            ("readahead:keep=pcc,keep.other=tip1", "'tip1' is no value of pcc's other: a policy that neither fetches"),
            ("readahead:kept=pcc", "policy readahead has no parameter 'kept'; it has: unread_share"),
            ("slru:segments=1.5", "'1.5' is no value of slru's segments: a whole number from 1 to 16"),
            ("lru-k:k=1.9", "'1.9' is no value of lru-k's k: a whole number from 1 to 4"),
            ("readahead:keep=pcc,keep.by_hash=0.5", "'0.5' is no value of pcc's by_hash: a whole number from 0 to 1"),
            ("2q:recent=0.5,recent=0.6", "'2q:recent=0.5,recent=0.6' sets recent twice; leave one of them out"),
            ("readahead:keep=lru,threshold=3,keep=arc", "'readahead:keep=lru,threshold=3,keep=arc' sets keep twice"),
            ("readahead:keep", "'keep' is not of the form parameter=value"),
        ] {
            let error = error(text);
            assert!(error.starts_with(wanted), "{text}: {error}");
        }
    }
}
