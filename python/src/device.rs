//! The device of a call.

use emab_sim::{Device, DeviceChoice};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;

/// Opens `device="cpu"`, `"gpu"` or `"auto"`.
pub fn open_device(text: &str) -> PyResult<Device> {
    let choice: DeviceChoice = text.parse().map_err(errors::invalid)?;
    Device::open(choice).map_err(|error| {
        PyRuntimeError::new_err(format!(
            "device=\"gpu\": {error}; use device=\"cpu\", or \"auto\" to use a GPU where there is one"
        ))
    })
}
