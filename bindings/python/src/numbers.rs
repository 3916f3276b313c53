//! Numbers that Python code gives, one by one and in pairs. What is wrong with one is said with the
//! argument's name, and with the number.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A count or a place: of 64 bits.
pub fn whole<'py, T: for<'a> FromPyObject<'a, 'py, Error = PyErr>>(
    name: &str,
    number: &Bound<'py, PyAny>,
) -> PyResult<T> {
    let extracted = number.extract();
    extracted.map_err(|error| wrong(error, name, "an integer from 0 to 2^64 - 1 is needed", number))
}

/// Where bytes begin and where they end: any two integers, as of a tuple, a list or an array.
pub fn range(name: impl FnOnce() -> String, pair: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
    let (start, stop) = match pair.extract::<(u64, u64)>().or_else(|_| of_two(pair)) {
        Ok(range) => range,
        Err(error) => {
            let needed = "where bytes begin and where they end are needed, two integers from 0 to 2^64 - 1";
            return Err(wrong(error, &name(), needed, pair));
        }
    };
    match start <= stop {
        true => Ok((start, stop)),
        false => Err(PyValueError::new_err(format!("{}: ({start}, {stop}) ends before it begins", name()))),
    }
}

/// The pairs that an iterable has.
pub fn ranges(name: &str, pairs: &Bound<'_, PyAny>) -> PyResult<Vec<(u64, u64)>> {
    let iterator = pairs.try_iter().map_err(|error| wrong(error, name, "an iterable of pairs is needed", pairs))?;
    iterator.enumerate().map(|(at, pair)| range(|| format!("{name}[{at}]"), &pair?)).collect()
}

fn of_two(pair: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
    // One more than there may be: it may have no end.
    let numbers = pair.try_iter()?.take(3).collect::<PyResult<Vec<_>>>()?;
    match &numbers[..] {
        [start, stop] => Ok((start.extract()?, stop.extract()?)),
        _ => Err(PyTypeError::new_err("no pair")),
    }
}

/// What was given in place of what is needed. What its own code raised is left as it is.
fn wrong(error: PyErr, name: &str, needed: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let (py, shown) = (given.py(), given.repr().map_or_else(|_| "that".to_owned(), |it| it.to_string()));
    let text = format!("{name}: {needed}, not {shown}");
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(text)
    } else if error.is_instance_of::<PyOverflowError>(py) {
        PyValueError::new_err(text)
    } else {
        error
    }
}

/// Arguments of one name each, for `from_py_with`.
macro_rules! arguments {
    ($($name:ident: $number:ty,)*) => {
        $(pub fn $name(number: &Bound<'_, PyAny>) -> PyResult<$number> {
            whole(stringify!($name), number)
        })*
    };
}

arguments! {
    offset: u64,
    size: usize,
    entries: u64,
    passes: u64,
    memory: usize,
    block_bytes: usize,
}
