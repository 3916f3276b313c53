//! Policies made of others: whoever is built upon a policy is all that it is.

use foresee_manager::policy::{Access, Candidate, Choice, Context, Need, Policy, Registry};
use foresee_manager::*;

/// What it has, in the order of the calls of [`Policy`].
fn facets(policy: &mut dyn Policy) -> [(&'static str, bool); 5] {
    [
        ("runs", policy.runs().is_some()),
        ("hints", policy.hints().is_some()),
        ("advice", policy.advice().is_some()),
        ("learning", policy.learning().is_some()),
        ("reports", policy.reports().is_some()),
    ]
}

/// Passes on what every policy must hear, and nothing else.
struct Wrapper(Box<dyn Policy>);

impl Policy for Wrapper {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.0.arrived(page, context, access);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.0.referenced(page, context, access);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.0.left(page, context);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        self.0.candidate(context, need)
    }

    fn base(&self) -> Option<&dyn Policy> {
        Some(&*self.0)
    }

    fn base_mut(&mut self) -> Option<&mut dyn Policy> {
        Some(&mut *self.0)
    }
}

#[test]
fn no_facet_is_lost_in_a_wrapper() {
    let mut all = [false; 5];
    for spec in Registry::default().specs() {
        let build = || spec.name.parse::<Choice>().expect("a registered policy").build();
        let (mut base, mut wrapper) = (build(), Wrapper(build()));
        assert_eq!(wrapper.nature(), base.nature(), "{}", spec.name);
        let of_base = facets(&mut *base);
        assert_eq!(facets(&mut wrapper), of_base, "{}", spec.name);
        assert_eq!(facets(&mut Wrapper(Box::new(wrapper))), of_base, "{} wrapped twice", spec.name);
        all.iter_mut().zip(of_base).for_each(|(any, (_, has))| *any |= has);
    }
    assert_eq!(all, [true; 5], "a facet that no policy has");
}

/// `readahead` has its own runs and hints, and all else of the policy that keeps.
#[test]
fn what_is_read_ahead_for_stays_what_it_is() {
    for spec in Registry::default().specs() {
        let Ok(whole) = format!("readahead:keep={}", spec.name).parse::<Choice>() else { continue };
        let (mut whole, mut part) = (whole.build(), spec.name.parse::<Choice>().expect("a registered policy").build());
        assert_eq!(whole.nature(), part.nature(), "{}", spec.name);
        assert_eq!(facets(&mut *whole)[..2], [("runs", true), ("hints", true)]);
        assert_eq!(facets(&mut *whole)[2..], facets(&mut *part)[2..], "{}", spec.name);
    }
}

/// A manager may be moved to another thread, and asked by several.
#[test]
fn managers_and_policies_are_no_threads_own() {
    fn is_free<T: Send + Sync + ?Sized>() {}
    is_free::<Manager>();
    is_free::<dyn Policy>();
    is_free::<Choice>();
    is_free::<Registry>();
}
