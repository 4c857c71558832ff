//! The kernels compiled for the processor, as a card; for tests.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use emab_host_kernels as _;

use super::card::{Card, CardLimits, GpuError, Grid, Kernel, Queue};
use super::job::{Address, Job};

macro_rules! kernels {
    ($($name:ident)*) => {
        unsafe extern "C" {
            $(fn $name(job: *const Job, blocks: u32, threads: u32, shared_size: u32);)*
        }
    };
}
kernels!(emab_feedbal_one_action emab_feedbal_shared emab_feedbal emab_feedbal_bernstein emab_policy emab_random emab_sequence_ucb emab_thompson);

/// A card whose limits can be chosen, so that small problems take every path.
#[derive(Debug)]
pub(crate) struct HostCard {
    pub(crate) limits: CardLimits,
    /// Threads of a multiprocessor.
    pub(crate) most_threads: u32,
    /// Launches until it fails; negative if it does not.
    pub(crate) fails_after: AtomicI64,
    /// The kernels that were launched.
    pub(crate) launched: Arc<Mutex<Vec<(Kernel, Grid)>>>,
    memory: Mutex<HashMap<Address, Layout>>,
}

impl HostCard {
    pub(crate) fn new(shared: u32) -> HostCard {
        HostCard {
            limits: CardLimits {
                warp: 4,
                multiprocessors: 2,
                shared,
                shared_of_block: shared,
                shared_reserved: 0,
                free: 1 << 30,
            },
            most_threads: 128,
            fails_after: AtomicI64::new(-1),
            launched: Arc::default(),
            memory: Mutex::default(),
        }
    }
}

impl Drop for HostCard {
    fn drop(&mut self) {
        assert!(
            self.memory.lock().unwrap().is_empty(),
            "memory was not freed"
        );
    }
}

impl Card for HostCard {
    fn name(&self) -> &str {
        "the processor"
    }

    fn limits(&self) -> Result<CardLimits, GpuError> {
        Ok(self.limits.clone())
    }

    fn most_threads(&self, _kernel: Kernel, _threads: u32) -> Result<u32, GpuError> {
        Ok(self.most_threads)
    }

    fn allocate(&self, bytes: usize) -> Result<Address, GpuError> {
        let layout = Layout::from_size_align(bytes, 256).unwrap();
        // SAFETY: the size is not 0. The content stays undefined, as on a card.
        let address = unsafe { alloc(layout) };
        // SAFETY: all bytes were allocated.
        unsafe { address.write_bytes(0xa5, bytes) };
        self.memory
            .lock()
            .unwrap()
            .insert(address.addr() as u64, layout);
        Ok(address.expose_provenance() as u64)
    }

    fn free(&self, address: Address) {
        let layout = self.memory.lock().unwrap().remove(&address).unwrap();
        // SAFETY: it was allocated with this layout and is freed once.
        unsafe { dealloc(at(address), layout) };
    }

    fn write(&self, address: Address, bytes: &[u8]) -> Result<(), GpuError> {
        assert!(bytes.len() <= self.memory.lock().unwrap()[&address].size());
        // SAFETY: as many bytes were allocated.
        unsafe { at(address).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn clear(&self, address: Address, bytes: usize) -> Result<(), GpuError> {
        self.write(address, &vec![0; bytes])
    }

    fn read(&self, address: Address, bytes: &mut [u8]) -> Result<(), GpuError> {
        // SAFETY: `Memory` reads what it has allocated.
        unsafe {
            bytes
                .as_mut_ptr()
                .copy_from_nonoverlapping(at(address), bytes.len())
        };
        Ok(())
    }

    fn queue(&self) -> Result<Box<dyn Queue + '_>, GpuError> {
        Ok(Box::new(HostQueue {
            card: self,
            launch: None,
        }))
    }
}

fn at(address: Address) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

struct HostQueue<'c> {
    card: &'c HostCard,
    launch: Option<JoinHandle<()>>,
}

impl Queue for HostQueue<'_> {
    fn launch(&mut self, kernel: Kernel, job: &Job, grid: Grid) -> Result<(), GpuError> {
        let launch = match kernel {
            Kernel::FeedBalOneAction => emab_feedbal_one_action,
            Kernel::FeedBalShared => emab_feedbal_shared,
            Kernel::FeedBal => emab_feedbal,
            Kernel::FeedBalBernstein => emab_feedbal_bernstein,
            Kernel::Policy => emab_policy,
            Kernel::Random => emab_random,
            Kernel::SequenceUcb => emab_sequence_ucb,
            Kernel::Thompson => emab_thompson,
        };
        if self.card.fails_after.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(GpuError::Failed {
                action: "a launch failed",
                reason: "as asked".into(),
            });
        }
        self.card.launched.lock().unwrap().push((kernel, grid));
        let mut job = Box::new(*job);
        job.copy = (&raw const *job).expose_provenance() as u64;
        // SAFETY: the addresses of the job were allocated with the sizes that the kernel expects, and live until it has ended.
        self.launch = Some(std::thread::spawn(move || unsafe {
            launch(&*job, grid.blocks, grid.threads, grid.shared);
        }));
        Ok(())
    }

    fn is_idle(&mut self) -> Result<bool, GpuError> {
        Ok(self.launch.as_ref().is_none_or(JoinHandle::is_finished))
    }
}

impl Drop for HostQueue<'_> {
    fn drop(&mut self) {
        if let Some(launch) = self.launch.take() {
            launch.join().unwrap();
        }
    }
}
