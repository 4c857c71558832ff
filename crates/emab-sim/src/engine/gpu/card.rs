//! A card: memory, and kernels that run beside the processor.

use std::fmt::Debug;

use thiserror::Error;

use super::job::{Address, Job};

/// A kernel, see `kernel/kernels.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kernel {
    /// FeedBAL on a problem with short rows, its table in shared memory, for up to 65,000 episodes.
    FeedBalOneAction,
    /// FeedBAL with its table in shared memory, for up to 65,000 episodes.
    FeedBalShared,
    /// FeedBAL.
    FeedBal,
    /// FeedBAL with `width=bernstein`.
    FeedBalBernstein,
    /// A fixed policy.
    Policy,
    /// Random actions.
    Random,
    /// UCB1 over sequences of actions.
    SequenceUcb,
    /// Thompson sampling.
    Thompson,
}

impl Kernel {
    #[cfg(test)]
    pub(crate) const ALL: [Kernel; 8] = [
        Kernel::FeedBalOneAction,
        Kernel::FeedBalShared,
        Kernel::FeedBal,
        Kernel::FeedBalBernstein,
        Kernel::Policy,
        Kernel::Random,
        Kernel::SequenceUcb,
        Kernel::Thompson,
    ];
}

/// The size of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of shared memory of a block.
    pub(crate) shared: u32,
}

/// What a card has.
#[derive(Clone, Debug)]
pub(crate) struct CardLimits {
    /// Threads of a warp.
    pub(crate) warp: u32,
    pub(crate) multiprocessors: u32,
    /// Bytes of shared memory of a multiprocessor, of the largest block, and what a block uses besides its own.
    pub(crate) shared: u32,
    pub(crate) shared_of_block: u32,
    pub(crate) shared_reserved: u32,
    /// Bytes of memory that are free.
    pub(crate) free: u64,
}

/// Why a card cannot be used, or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GpuError {
    /// There is none.
    #[error("no GPU was found: {0}")]
    Missing(String),
    /// Its memory is too small for a job.
    #[error("the memory of the GPU is too small: {0}")]
    Memory(String),
    /// A call of its driver failed.
    #[error("{action}: {reason}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// What the driver says.
        reason: String,
    },
}

/// A card. Its methods may be called from several threads.
pub(crate) trait Card: Debug + Send + Sync {
    /// Its name and driver, for people.
    fn name(&self) -> &str;

    fn limits(&self) -> Result<CardLimits, GpuError>;

    /// The most threads that a multiprocessor can run of a kernel, in blocks of this many threads.
    fn most_threads(&self, kernel: Kernel, threads: u32) -> Result<u32, GpuError>;

    /// Allocates memory.
    fn allocate(&self, bytes: usize) -> Result<Address, GpuError>;

    /// Frees memory that was allocated.
    fn free(&self, address: Address);

    fn write(&self, address: Address, bytes: &[u8]) -> Result<(), GpuError>;

    fn clear(&self, address: Address, bytes: usize) -> Result<(), GpuError>;

    fn read(&self, address: Address, bytes: &mut [u8]) -> Result<(), GpuError>;

    /// A queue for launches.
    fn queue(&self) -> Result<Box<dyn Queue + '_>, GpuError>;
}

/// Launches, one after another; those of different queues run side by side.
pub(crate) trait Queue {
    /// Starts a kernel.
    fn launch(&mut self, kernel: Kernel, job: &Job, grid: Grid) -> Result<(), GpuError>;

    /// Whether all launches have ended; an error if one failed.
    fn is_idle(&mut self) -> Result<bool, GpuError>;
}

/// Memory of a card that is freed with this value.
pub(crate) struct Memory<'c> {
    card: &'c dyn Card,
    pub(crate) address: Address,
    bytes: usize,
}

impl<'c> Memory<'c> {
    /// Memory of undefined content; address 0 if it has no bytes.
    pub(crate) fn new(card: &'c dyn Card, bytes: usize) -> Result<Memory<'c>, GpuError> {
        let address = match bytes {
            0 => 0,
            _ => card.allocate(bytes)?,
        };
        Ok(Memory {
            card,
            address,
            bytes,
        })
    }

    /// A copy of numbers.
    pub(crate) fn of<T: Number>(card: &'c dyn Card, values: &[T]) -> Result<Memory<'c>, GpuError> {
        let memory = Memory::new(card, size_of_val(values))?;
        memory.write(values)?;
        Ok(memory)
    }

    /// Bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes
    }

    /// Writes numbers at the beginning.
    pub(crate) fn write<T: Number>(&self, values: &[T]) -> Result<(), GpuError> {
        let bytes = T::bytes(values);
        match bytes.is_empty() {
            true => Ok(()),
            false => self.card.write(self.address, &bytes),
        }
    }

    /// Fills it with 0.
    pub(crate) fn clear(&self) -> Result<(), GpuError> {
        match self.bytes {
            0 => Ok(()),
            bytes => self.card.clear(self.address, bytes),
        }
    }

    /// Numbers from a position on.
    pub(crate) fn read<T: Number>(&self, first: usize, count: usize) -> Result<Vec<T>, GpuError> {
        let (first, mut bytes) = (first * size_of::<T>(), vec![0; count * size_of::<T>()]);
        debug_assert!(first + bytes.len() <= self.bytes);
        if !bytes.is_empty() {
            self.card.read(self.address + first as u64, &mut bytes)?;
        }
        Ok(T::of_bytes(&bytes))
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if self.address != 0 {
            self.card.free(self.address);
        }
    }
}

/// Numbers as bytes in the order of the machine, which is that of its card.
pub(crate) trait Number: Copy {
    fn bytes(values: &[Self]) -> Vec<u8>;
    fn of_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! number {
    ($($type:ty)*) => {
        $(impl Number for $type {
            fn bytes(values: &[Self]) -> Vec<u8> {
                values.iter().flat_map(|value| value.to_ne_bytes()).collect()
            }

            fn of_bytes(bytes: &[u8]) -> Vec<Self> {
                let (chunks, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                chunks.iter().map(|chunk| <$type>::from_ne_bytes(*chunk)).collect()
            }
        })*
    };
}

number!(u8 u32 u64 f64);
