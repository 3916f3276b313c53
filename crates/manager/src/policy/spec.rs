//! How a policy is named and built: what its file declares.

use std::fmt;

use super::Policy;

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
    /// A number of things, or 1 for yes and 0 for no.
    Whole {
        /// The value if none is given.
        default: f64,
        /// The least value that makes sense.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// The name of another policy that can hold a part, and decides about a part of the memory. Its
    /// own parameters are set by its parameter's name and theirs, joined by a point:
    /// `keep=pcc,keep.onward=0`.
    Policy {
        /// The policy if none is given, with parameters that differ from its own defaults:
        /// `pcc:other=arc`.
        default: &'static str,
    },
}

impl fmt::Display for Domain {
    /// As in help texts: the default, and what else there is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Number { default, min, max } => write!(f, "{default:.3} ({min} to {max})"),
            Domain::Whole { default, min, max } => write!(f, "{default} ({min} to {max})"),
            Domain::Policy { default } => write!(f, "{default} (any policy of its own pages)"),
        }
    }
}

/// What a parameter is.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Number(f64),
    Policy(Values),
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
    /// Why a part of all blocks in as much of the memory would not miss as all do, if it would not.
    /// Of the policies that its parameters name it need not speak: see
    /// [`Choice::unlike_a_part`](super::Choice::unlike_a_part).
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
    pub(super) spec: &'static Spec,
    /// In the order of the spec's parameters.
    pub(super) values: Vec<Value>,
}

impl Values {
    /// The value of a numeric parameter.
    ///
    /// # Panics
    /// If the policy's own spec does not declare `name` as a number: a slip in its file, which the
    /// conformance suite meets.
    pub fn get(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(number)) => *number,
            _ => panic!("policy {} declares no number {name}", self.spec.name),
        }
    }

    /// Makes the policy that a parameter names.
    ///
    /// # Panics
    /// If the policy's own spec does not declare `name` as a policy.
    pub fn policy(&self, name: &str) -> Box<dyn Policy> {
        match self.value(name) {
            Some(Value::Policy(values)) => values.build(),
            _ => panic!("policy {} declares no policy {name}", self.spec.name),
        }
    }

    /// The same; None if it is the policy `own`, which the caller acts as by itself.
    ///
    /// # Panics
    /// As [`Values::policy`].
    pub fn policy_but(&self, name: &str, own: &str) -> Option<Box<dyn Policy>> {
        match self.value(name) {
            Some(Value::Policy(values)) if values.spec.name == own => None,
            _ => Some(self.policy(name)),
        }
    }

    pub(super) fn build(&self) -> Box<dyn Policy> {
        (self.spec.build)(self)
    }

    /// The policy's own reason, or that of a policy it is made of.
    pub(super) fn unlike_a_part(&self) -> Option<&'static str> {
        let of_part = |value: &Value| match value {
            Value::Number(_) => None,
            Value::Policy(values) => values.unlike_a_part(),
        };
        self.spec.unlike_a_part.or_else(|| self.values.iter().find_map(of_part))
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(self.spec.parameters.iter().position(|parameter| parameter.name == name)?)
    }
}
