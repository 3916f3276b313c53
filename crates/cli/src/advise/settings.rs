//! What is simulated: on each storage the program as it is, and under 'foresee run' by what is
//! known beforehand; on the first storage under other policies too.

use foresee_manager::Config;
use foresee_manager::policy::{Choice, Registry};
use foresee_run::supervisor::INITIAL_BLOCKS;
use foresee_sim::host::{self, Fault, Readahead, Report};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Disclosure, Think};

use super::storage::Storage;
use crate::running::default_policy;

/// The program as it is: LRU, and what a file system reads ahead by itself.
const AS_IT_IS: &str = "lru";
/// Policies besides foresee's own that fetch ahead what is disclosed.
const BY_HINTS: [&str; 2] = ["tip1", "tip2"];

/// What is known beforehand of what will be read, by what it takes to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hints {
    /// Nothing.
    None,
    /// What an earlier run read, here the same: trusted as it comes true.
    Recorded,
    /// All, from the program itself.
    Told,
}

impl Hints {
    /// From nothing to all.
    pub const ALL: [Hints; 3] = [Hints::None, Hints::Recorded, Hints::Told];

    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Hints::None => "none",
            Hints::Recorded => "recorded",
            Hints::Told => "told",
        }
    }

    /// Above the lines of a table.
    pub fn heading(self) -> &'static str {
        match self {
            Hints::None => "no hints",
            Hints::Recorded => "an earlier run recorded",
            Hints::Told => "all told by the program",
        }
    }
}

/// One simulation.
pub struct Setting {
    /// An index into the storages.
    pub storage: usize,
    /// What is known beforehand.
    pub hints: Hints,
    /// Who decides.
    pub policy: Choice,
}

impl Setting {
    /// Whether it is the program without foresee.
    pub fn is_as_it_is(&self) -> bool {
        self.hints == Hints::None && self.policy.as_str() == AS_IT_IS
    }

    /// Whether it is what 'foresee run' does unless told otherwise.
    pub fn is_own(&self) -> bool {
        self.policy.as_str() == default_policy(false).as_str()
    }

    /// Simulates it.
    pub fn run(&self, trace: &Trace, memory_blocks: u64, think: Think, storage: &Storage) -> Result<Report, Fault> {
        let config = Config::new(memory_blocks, self.policy.clone());
        let disclose = match self.hints {
            Hints::None => None,
            Hints::Recorded => Some(Disclosure::recorded(0, INITIAL_BLOCKS)),
            Hints::Told => Some(Disclosure::TOLD),
        };
        let how = timed::Options { think, disclose, device: storage.device, disks: 1, lookup_ns: 0 };
        let mut setup = timed::setup(trace, &how, config);
        setup.readahead = Readahead::Osf1;
        host::run(&setup)
    }
}

/// Policies to compare on a clock: those that were asked for, or all that need no hints to differ.
pub fn compared(asked: Option<Vec<Choice>>) -> Result<Vec<Choice>, String> {
    match asked {
        Some(choices) => Ok(choices),
        None => {
            let registry = Registry::default();
            let names = registry.specs().iter().map(|spec| spec.name).filter(|name| *name != "null");
            let choices: Vec<Choice> = names.map(str::parse).collect::<Result<_, _>>()?;
            Ok(choices.into_iter().filter(|choice| !choice.is_offline()).collect())
        }
    }
}

/// All of them, storage by storage, each from nothing known to all; the program as it is first.
pub fn settings(storages: usize, compared: &[Choice]) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for storage in 0..storages {
        for hints in Hints::ALL {
            let mut policies = match hints {
                Hints::None => vec![AS_IT_IS.parse()?, default_policy(false)],
                Hints::Recorded | Hints::Told => vec![default_policy(false)],
            };
            let others: Vec<Choice> = match hints {
                _ if storage > 0 => Vec::new(),
                Hints::None => compared.to_vec(),
                Hints::Recorded | Hints::Told => BY_HINTS.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
            };
            for policy in others {
                if policies.iter().all(|it: &Choice| it.as_str() != policy.as_str()) {
                    policies.push(policy);
                }
            }
            settings.extend(policies.into_iter().map(|policy| Setting { storage, hints, policy }));
        }
    }
    Ok(settings)
}
