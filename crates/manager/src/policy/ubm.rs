//! `ubm`: each file's pattern decides in which partition its pages are (004 section 3.2); the cache is that of `pcc`.

use super::partitioned::{Files, Loops, OTHER, OVERDUE, Partitioned};
use super::{Domain, Parameter, SEQUENCES, Spec};

pub(super) static SPEC: Spec = Spec {
    name: "ubm",
    summary: "as pcc, but file by file: blocks in a row are sequential, and looping once they are read again",
    source: "Kim et al., UBM (OSDI 2000), as 004 sections 3.2 and 5.3 describe it",
    unlike_a_part: Some(SEQUENCES),
    parameters: &[
        Parameter {
            name: "threshold",
            help: "blocks in a row that are a sequence; 3 was best in 004 section 5.3.3",
            domain: Domain::Number { default: 3.0, min: 1.0, max: 1e9 },
        },
        OVERDUE,
        OTHER,
    ],
    build: |values| {
        let files = Files::new(values.get("threshold") as u64);
        let loops = Loops { overdue: values.get(OVERDUE.name), alike: false, onward: false, follow: false };
        Box::new(Partitioned::new(files, loops, values))
    },
};
