//! A policy of another crate: registered, it is chosen by name and simulated as any other.

use foresee_manager::Page;
use foresee_manager::policy::list::List;
use foresee_manager::policy::{Access, Candidate, Context, Domain, Need, Parameter, Policy, Registry, Spec};
use foresee_sim::load::Trace;
use foresee_sim::untimed::{Cell, sweep};

/// The page that came at this place of those that are here goes.
struct Nth {
    pages: List,
    place: usize,
}

impl Policy for Nth {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        self.pages.push_newest(page);
    }

    fn referenced(&mut self, _: Page, _: &Context<'_>, _: &Access) {}

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.remove(page);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let mut pages = self.pages.oldest_first().filter(|&page| context.table.can_go(page));
        pages.nth(self.place).map(Candidate::unpriced)
    }
}

static NTH: Spec = Spec {
    name: "nth",
    summary: "the page that came n-th of those that are here goes",
    source: "a test",
    unlike_a_part: None,
    parameters: &[Parameter {
        name: "place",
        help: "n; 0: the page that came first, as under fifo",
        domain: Domain::Number { default: 0.0, min: 0.0, max: 1e6 },
    }],
    build: |values| Box::new(Nth { pages: List::default(), place: values.get("place") as usize }),
};

/// Misses of a loop over 100 blocks, ten times, in 60 pages.
fn misses(registry: &Registry, policy: &str) -> u64 {
    let trace = Trace::of_blocks((0..10).flat_map(|_| 0..100), 4096);
    let cell = Cell::new(registry.choose(policy).unwrap(), 60);
    let outcome = sweep(&trace, &[cell], &|_, _| {}).remove(0);
    assert_eq!(outcome.policy, policy);
    outcome.misses
}

#[test]
fn it_is_chosen_by_name_and_simulated() {
    let registry = Registry::default().with(&NTH).unwrap();
    assert_eq!(misses(&registry, "nth"), misses(&registry, "fifo"));
    // The newest goes: what came first stays.
    assert_eq!(misses(&registry, "nth:place=59"), 60 + 40 + 9 * 41);
    assert!(registry.specs().iter().any(|spec| spec.name == "nth"));
}

#[test]
fn policies_of_this_project_are_built_upon_it() {
    let registry = Registry::default().with(&NTH).unwrap();
    for [with_it, with_fifo] in
        [["readahead:keep=nth", "readahead:keep=fifo"], ["pcc:other=nth,other.place=0", "pcc:other=fifo"]]
    {
        assert_eq!(misses(&registry, with_it), misses(&registry, with_fifo), "{with_it}");
    }
}

#[test]
fn names_are_taken_once_and_are_words() {
    let registry = Registry::default().with(&NTH).unwrap();
    assert_eq!(registry.clone().with(&NTH).unwrap_err(), "there is a policy 'nth' already");
    static NAMELESS: Spec = Spec { name: "n=th", parameters: &[], ..NTH };
    assert!(registry.with(&NAMELESS).unwrap_err().starts_with("'n=th' is no name"));
    assert!("nth".parse::<foresee_manager::policy::Choice>().is_err(), "nobody else has it");
}
