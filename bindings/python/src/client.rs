//! Clients of services, and what a store in Python opens by them: it knows names, sizes and
//! versions, and Python has no part in the bytes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use foresee::Error;
use foresee::store::{Listed, Store as _, Version};
use foresee_object::ObjectStore;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::to_python;
use crate::inherited::Own;

/// The store of a scheme, with settings in place of the environment's; `deadline`, in seconds, is for
/// all of them.
pub fn service(scheme: &str, mut settings: HashMap<String, String>) -> PyResult<ObjectStore> {
    let service = match scheme {
        "s3" => ObjectStore::s3(),
        "gs" => ObjectStore::gcs(),
        "az" => ObjectStore::azure(),
        "http" => ObjectStore::http(),
        "https" => ObjectStore::https(),
        _ => {
            return Err(PyValueError::new_err(format!(
                "settings are of s3, gs, az, http and https, not of '{scheme}'"
            )));
        }
    };
    let key = settings.keys().find(|key| key.eq_ignore_ascii_case("deadline")).cloned();
    let service = match key.and_then(|key| settings.remove(&key)) {
        None => service,
        Some(said) => {
            let seconds = said.parse().ok().filter(|&it: &f64| it > 0.0);
            let deadline = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
            let wrong =
                || PyValueError::new_err(format!("deadline '{said}' of '{scheme}' is no number of seconds above 0"));
            service.deadline(deadline.ok_or_else(wrong)?)
        }
    };
    Ok(settings.iter().fold(service, |service, (key, value)| service.set(key, value)))
}

/// A client of a service.
#[pyclass(frozen, module = "foresee._foresee")]
pub struct Client(Own<ObjectStore>);

#[pymethods]
impl Client {
    #[new]
    fn new(scheme: &str, settings: HashMap<String, String>) -> PyResult<Self> {
        Ok(Client(Own::new(service(scheme, settings)?)))
    }

    /// An object of which the size and the entity tag are known already; nobody is asked. What is
    /// read of it is of that tag, or an error.
    fn object(&self, py: Python<'_>, name: String, size: u64, tag: &str) -> PyResult<Object> {
        let store = self.0.get()?;
        // Of what has a tag, nobody asks when it was changed.
        let listed = Listed { name, size, version: Some(Version::Tag(tag.into())), modified: Some(UNIX_EPOCH) };
        let opened = py.detach(|| store.open_listed(&listed));
        let opened =
            opened.map_err(|error| to_python(py, Error::Store { name: listed.name.as_str().into(), error }))?;
        Ok(Object(Own::new(opened)))
    }
}

/// An object of a client's. A store in Python gives it to the cache, which reads it.
#[pyclass(frozen, module = "foresee._foresee")]
pub struct Object(Own<Arc<dyn foresee::store::Object>>);

impl Object {
    /// The object, in its process.
    pub fn get(&self) -> PyResult<&Arc<dyn foresee::store::Object>> {
        self.0.get()
    }
}
