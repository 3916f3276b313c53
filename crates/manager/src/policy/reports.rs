//! What a policy tells of itself, for reports.

/// References by their pattern, as a policy that classifies them saw them (004 Figure 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Patterns {
    /// Of blocks that are read once.
    pub sequential: u64,
    /// Of blocks that are read again and again.
    pub looping: u64,
    /// Of no pattern.
    pub other: u64,
}

/// What a policy that tells sequential reads from random ones knows of both. For reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classes {
    /// Pages that are here for sequential reads.
    pub sequential_pages: u64,
    /// Pages that are here for random ones.
    pub random_pages: u64,
    /// How many pages at the end of either list count as its bottom (003's delta L).
    pub bottom_pages: f64,
    /// Hits in the bottom of the random pages so far.
    pub bottom_hits: u64,
    /// Pages the policy would have sequential reads hold, if it has an opinion.
    pub desired_pages: Option<f64>,
}

/// A part of the memory that a policy tells from others. A page is in one at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// What its paper calls it.
    pub name: String,
    /// How many pages it has.
    pub pages: u64,
}

impl Partition {
    pub(crate) fn new(name: impl Into<String>, pages: u64) -> Self {
        Partition { name: name.into(), pages }
    }
}
