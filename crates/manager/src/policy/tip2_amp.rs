//! `tip2-amp`: `tip2-sarc` for programs of which nothing is known: how far is read ahead and when
//! is adapted stream by stream, as under `sarc-amp`, and a wrong guess costs little.
//! A run begins with the least degree, and doubles it for as long as what was brought is read.

use super::estimators::runs::Runs;
use super::sequential::amp::{DEGREE_MAX, FIRST_DEGREE};
use super::sequential::detect::Rules;
use super::sequential::{BOTTOM_SHARE, THRESHOLD};
use super::tip2::{self, Tip2};
use super::{Domain, Parameter, SEQUENCES, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "tip2-amp",
    summary: "tip2-sarc; how far each run is read ahead, and when, follows from what became of it",
    source: "000 sections 4 and 5; 003 sections II and III; Gill, Bathen: AMP (FAST 2007)",
    unlike_a_part: Some(SEQUENCES),
    parameters: tip2::parameters![
        THRESHOLD,
        BOTTOM_SHARE,
        Parameter { domain: Domain::Whole { default: 4.0, min: 1.0, max: 4096.0 }, ..FIRST_DEGREE },
        DEGREE_MAX,
    ],
    build: |values| Box::new(Tip2::new(values, Some(Runs::new(Rules::adapted(values))), values.get(BOTTOM_SHARE.name))),
};
