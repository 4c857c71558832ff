//! The loop on a card: one thread for each run, with the bits that the processor's loops give.
//!
//! The kernels are written once, in `kernel/`, and compiled twice: to PTX for cards (`ptx/`, by `tools/kernels`), and by a C++
//! compiler for the processor, where tests compare them with the fast loop. [`card`] is what both offer; [`cuda`] is the driver of
//! NVIDIA. [`problem`] and [`learner`] copy the tables of a job to a card, [`memory`] decides where those of the threads lie, and
//! [`play`] launches the kernels; [`launch`] is one launch, and [`collect`] takes its results.

pub(crate) mod card;
mod collect;
mod cuda;
mod device;
mod freed_memory;
#[cfg(test)]
pub(crate) mod host;
mod job;
mod launch;
pub(crate) mod learner;
mod losses;
mod memory;
pub(crate) mod play;
mod problem;
#[cfg(test)]
mod tests;

pub use card::GpuError;
pub use device::{Device, DeviceChoice, UnknownDevice};
