//! How a policy is named and built: what its file declares, and what a user chose of it.

use std::fmt;

use super::{Policy, REGISTRY};

/// A parameter of a policy.
#[derive(Debug)]
pub struct Parameter {
    /// Its name, as in `tip1:unread_share=0.33`.
    pub name: &'static str,
    /// What it means, and why the default is what it is.
    pub help: &'static str,
    /// What it may be.
    pub domain: Domain,
}

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// A number.
    Number {
        /// The value if none is given.
        default: f64,
        /// The least value that makes sense.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// The name of another policy that can hold a part: it is built with its own defaults, and decides about a part of the memory.
    Policy {
        /// The policy if none is given.
        default: &'static str,
    },
}

impl Domain {
    fn default(self) -> Value {
        match self {
            Domain::Number { default, .. } => Value::Number(default),
            Domain::Policy { default } => Value::Policy(default),
        }
    }

    /// The value of this text; an error says what would have been one.
    fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Domain::Number { min, max, .. } => {
                let number = text.parse().ok().filter(|number| (min..=max).contains(number));
                number.map(Value::Number).ok_or_else(|| format!("a number from {min} to {max}"))
            }
            Domain::Policy { .. } => match text.parse::<Choice>()?.build().holds_a_part() {
                true => find(text).map(|spec| Value::Policy(spec.name)),
                false => Err("a policy that neither fetches ahead by itself nor knows the future".to_owned()),
            },
        }
    }
}

impl fmt::Display for Domain {
    /// As in help texts: the default, and what else there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Number { default, min, max } => write!(f, "{default:.3} ({min} to {max})"),
            Domain::Policy { default } => write!(f, "{default} (any policy of its own pages)"),
        }
    }
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Number(f64),
    Policy(&'static str),
}

/// The policy of this name; an error lists those that there are.
fn find(name: &str) -> Result<&'static Spec, String> {
    REGISTRY.iter().find(|spec| spec.name == name).copied().ok_or_else(|| {
        let names: Vec<_> = REGISTRY.iter().map(|spec| spec.name).collect();
        format!("there is no policy '{name}'; there are: {}", names.join(", "))
    })
}

/// Why no policy that finds runs of blocks is in a sample as it is with all of them.
pub(super) const SEQUENCES: &str = "what is read in sequence is no sequence any more in a part of all blocks";

/// What a policy's file declares.
pub struct Spec {
    /// The name users write.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The paper and section, or the idea's origin.
    pub source: &'static str,
    /// Why a part of all blocks in as much of the memory would not miss as all do, if it would not. Of the policies that its
    /// parameters name it need not speak: see [`Choice::unlike_a_part`].
    pub unlike_a_part: Option<&'static str>,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes one.
    pub build: fn(&Values) -> Box<dyn Policy>,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The parameters' values of one policy.
#[derive(Debug, Clone)]
pub struct Values {
    spec: &'static Spec,
    values: Vec<Value>,
}

impl Values {
    /// The value of a numeric parameter.
    ///
    /// # Panics
    /// If the policy's own spec does not declare `name` as a number: a slip in its file, which the conformance suite meets.
    pub fn get(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(number)) => number,
            _ => panic!("policy {} declares no number {name}", self.spec.name),
        }
    }

    /// Makes the policy that a parameter names.
    ///
    /// # Panics
    /// If the policy's own spec does not declare `name` as a policy that there is.
    pub fn policy(&self, name: &str) -> Box<dyn Policy> {
        match self.value(name) {
            Some(Value::Policy(policy)) => match policy.parse::<Choice>() {
                Ok(choice) => choice.build(),
                Err(error) => panic!("policy {}: {error}", self.spec.name),
            },
            _ => panic!("policy {} declares no policy {name}", self.spec.name),
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        Some(self.values[self.spec.parameters.iter().position(|parameter| parameter.name == name)?])
    }
}

/// A policy with its parameters, as a user chose it: `lru`, `tip1:unread_share=0.25,count_present=0`.
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

    /// Why a part of all blocks in as much of the memory would not miss as all do, if it would not: for the policy's own reason, or
    /// for that of a policy it is made of.
    pub fn unlike_a_part(&self) -> Option<&'static str> {
        let of_part = |value: &Value| match value {
            Value::Number(_) => None,
            Value::Policy(name) => name.parse::<Choice>().ok()?.unlike_a_part(),
        };
        self.spec().unlike_a_part.or_else(|| self.values.values.iter().find_map(of_part))
    }

    /// Makes the policy.
    pub fn build(&self) -> Box<dyn Policy> {
        (self.values.spec.build)(&self.values)
    }
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let spec = find(name)?;
        let mut values: Vec<Value> = spec.parameters.iter().map(|parameter| parameter.domain.default()).collect();
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let (key, value) =
                setting.split_once('=').ok_or_else(|| format!("'{setting}' is not of the form parameter=value"))?;
            let at = spec.parameters.iter().position(|parameter| parameter.name == key).ok_or_else(|| {
                let names: Vec<_> = spec.parameters.iter().map(|parameter| parameter.name).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!("policy {name} has no parameter '{key}'; it has: {names}")
            })?;
            values[at] = spec.parameters[at]
                .domain
                .parse(value)
                .map_err(|wanted| format!("'{value}' is no value of {name}'s {key}: {wanted}"))?;
        }
        Ok(Choice { text: text.to_owned(), values: Values { spec, values } })
    }
}
