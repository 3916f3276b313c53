//! The stores that a cache has unless it is given others.

use std::sync::Arc;

use foresee_store::{Local, Store};

/// Schemes that features of this crate bring.
const OF_FEATURES: [(&str, &str); 5] =
    [("s3", "s3"), ("gs", "gcs"), ("az", "azure"), ("http", "http"), ("https", "http")];

/// Each by the scheme of its addresses.
pub(crate) fn known() -> Vec<(String, Arc<dyn Store>)> {
    let known: &[(&str, Arc<dyn Store>)] = &[
        ("file", Arc::new(Local::direct())),
        #[cfg(feature = "s3")]
        ("s3", Arc::new(foresee_object::ObjectStore::s3())),
        #[cfg(feature = "gcs")]
        ("gs", Arc::new(foresee_object::ObjectStore::gcs())),
        #[cfg(feature = "azure")]
        ("az", Arc::new(foresee_object::ObjectStore::azure())),
        #[cfg(feature = "http")]
        ("http", Arc::new(foresee_object::ObjectStore::http())),
        #[cfg(feature = "http")]
        ("https", Arc::new(foresee_object::ObjectStore::https())),
    ];
    known.iter().map(|(scheme, store)| ((*scheme).to_owned(), Arc::clone(store))).collect()
}

/// The feature that brings a scheme.
pub(crate) fn feature_of(scheme: &str) -> Option<&'static str> {
    OF_FEATURES.iter().find(|(it, _)| *it == scheme).map(|(_, feature)| *feature)
}
