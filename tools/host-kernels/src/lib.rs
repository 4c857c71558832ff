//! The kernels of `emab_sim::engine::gpu`, compiled by a C++ compiler for the processor. Tests of `emab-sim` link this crate, and
//! compare the kernels with the processor's loop.
