//! A card of NVIDIA, through its driver, which is loaded when a card is asked for; nothing else of CUDA is needed.
//!
//! The kernels are PTX, which the driver compiles for the card (and keeps, so that it does that once).

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result};

use super::card::{Card, CardLimits, GpuError, Grid, Kernel, Memory, Queue};
use super::freed_memory::FreedMemory;
use super::job::{Address, Job};

/// The oldest driver that reads the kernels: that of CUDA 12.0.
const OLDEST_DRIVER: i32 = 12_000;

impl Kernel {
    /// The compiled kernel, made by `tools/kernels`.
    fn ptx(self) -> &'static str {
        match self {
            Kernel::FeedBalOneAction => include_str!("ptx/feedbal_one_action.ptx"),
            Kernel::FeedBalShared => include_str!("ptx/feedbal_shared.ptx"),
            Kernel::FeedBal => include_str!("ptx/feedbal.ptx"),
            Kernel::FeedBalBernstein => include_str!("ptx/feedbal_bernstein.ptx"),
            Kernel::Policy => include_str!("ptx/policy.ptx"),
            Kernel::Random => include_str!("ptx/random.ptx"),
            Kernel::SequenceUcb => include_str!("ptx/sequence_ucb.ptx"),
            Kernel::Thompson => include_str!("ptx/thompson.ptx"),
        }
    }
}

/// A function of a loaded kernel, and its module.
#[derive(Clone, Copy, Debug)]
struct Function(sys::CUfunction, sys::CUmodule);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Function {}

/// The first card that `CUDA_VISIBLE_DEVICES` leaves visible.
#[derive(Debug)]
pub(crate) struct CudaCard {
    name: String,
    context: Arc<CudaContext>,
    kernels: Mutex<HashMap<Kernel, Function>>,
    freed: Mutex<FreedMemory>,
}

impl CudaCard {
    /// Loads the driver and opens the card; an error says what was looked for and not found.
    pub(crate) fn open() -> Result<CudaCard, GpuError> {
        let missing = |reason: String| {
            let visible = std::env::var("CUDA_VISIBLE_DEVICES");
            let visible = visible.map(|value| format!(" (CUDA_VISIBLE_DEVICES is `{value}`)"));
            GpuError::Missing(reason + &visible.unwrap_or_default())
        };
        // SAFETY: loading the driver's library runs its own initialisation and nothing else.
        if !unsafe { sys::is_culib_present() } {
            return Err(missing(
                "the driver of NVIDIA (libcuda.so.1, or nvcuda.dll on Windows) is not installed"
                    .into(),
            ));
        }
        result::init().map_err(|error| missing(describe(error)))?;
        let mut driver = 0;
        // SAFETY: the library is present, and the argument is a number to write to.
        let asked = unsafe { sys::cuDriverGetVersion(&mut driver) };
        asked.result().map_err(|error| missing(describe(error)))?;
        let version = format!("{}.{}", driver / 1000, driver % 1000 / 10);
        if driver < OLDEST_DRIVER {
            return Err(missing(format!(
                "the driver supports CUDA {version}, and 12.0 is needed"
            )));
        }
        let count = result::device::get_count().map_err(|error| missing(describe(error)))?;
        if count == 0 {
            return Err(missing("the driver finds no GPU".into()));
        }
        let context = CudaContext::new(0).map_err(|error| missing(describe(error)))?;
        let open = |error| missing(describe(error));
        let (major, minor) = context.compute_capability().map_err(open)?;
        let card = context.name().map_err(open)?;
        if major < 7 {
            return Err(missing(format!(
                "{card} has the compute capability {major}.{minor}, and 7.0 is needed"
            )));
        }
        Ok(CudaCard {
            name: format!("{card}, driver for CUDA {version}"),
            context,
            kernels: Mutex::default(),
            freed: Mutex::default(),
        })
    }

    fn freed(&self) -> MutexGuard<'_, FreedMemory> {
        self.freed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind(&self) -> Result<(), GpuError> {
        let bound = self.context.bind_to_thread();
        bound.map_err(failed("cannot use the GPU from a thread"))
    }

    fn function(&self, kernel: Kernel) -> Result<Function, GpuError> {
        self.bind()?;
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = kernels.get(&kernel) {
            return Ok(*function);
        }
        let failed = failed("the driver cannot compile a kernel");
        let no_text = |_| GpuError::Failed {
            action: "the driver cannot compile a kernel",
            reason: "its text contains a 0".into(),
        };
        let text = CString::new(kernel.ptx()).map_err(no_text)?;
        let name = CString::new("play").map_err(no_text)?;
        let most =
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        // SAFETY: the text ends with a 0 and lives until it is loaded; the module is unloaded with the card.
        let function = unsafe {
            let module = result::module::load_data(text.as_ptr().cast()).map_err(failed)?;
            let function = result::module::get_function(module, name).map_err(failed)?;
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            result::function::set_function_attribute(function, attribute, most).map_err(failed)?;
            Function(function, module)
        };
        kernels.insert(kernel, function);
        Ok(function)
    }

    /// Waits until what was written has arrived: launches in queues do not wait for it.
    fn wait(&self) -> Result<(), GpuError> {
        // SAFETY: the default stream always exists.
        let done = unsafe { result::stream::synchronize(result::stream::null()) };
        done.map_err(failed("cannot write to the GPU"))
    }

    fn attribute(&self, attribute: Attribute) -> Result<i32, GpuError> {
        let value = self.context.attribute(attribute);
        value.map_err(failed("cannot ask the GPU for its limits"))
    }
}

impl Drop for CudaCard {
    // Another library of the process may keep the context open, so nothing is left in it.
    fn drop(&mut self) {
        if self.bind().is_err() {
            return;
        }
        let kept = std::mem::take(&mut self.freed().kept);
        let kernels =
            std::mem::take(&mut *self.kernels.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: the memory is not in use and the kernels have ended: all queues are gone. What fails here has failed before.
        unsafe {
            for address in kept.into_values().flatten() {
                let _ = result::free_sync(address);
            }
            for Function(_, module) in kernels.into_values() {
                let _ = result::module::unload(module);
            }
        }
    }
}

impl Card for CudaCard {
    fn name(&self) -> &str {
        &self.name
    }

    fn limits(&self) -> Result<CardLimits, GpuError> {
        self.bind()?;
        let free = self.context.mem_get_info();
        let (free, _) = free.map_err(failed("cannot ask the GPU for its memory"))?;
        let get = |attribute| self.attribute(attribute).map(|value| value as u32);
        Ok(CardLimits {
            warp: get(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            shared_of_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_reserved: get(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
            free: (free + self.freed().kept_bytes()) as u64,
        })
    }

    fn most_threads(&self, kernel: Kernel, threads: u32) -> Result<u32, GpuError> {
        let Function(function, _) = self.function(kernel)?;
        let mut blocks = 0;
        // SAFETY: the function is loaded, and the first argument is a number to write to.
        let asked = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                threads as i32,
                0,
            )
        };
        asked
            .result()
            .map_err(failed("cannot ask how many threads fit"))?;
        Ok(blocks as u32 * threads)
    }

    fn allocate(&self, bytes: usize) -> Result<Address, GpuError> {
        self.bind()?;
        let size = FreedMemory::size(bytes);
        let kept = self.freed().kept.get_mut(&size).and_then(Vec::pop);
        // SAFETY: the address is freed below alone, after it was given back.
        let new = || unsafe { result::malloc_sync(size) };
        let allocated = match kept {
            Some(address) => Ok(address),
            None => new().or_else(|_| {
                let kept = std::mem::take(&mut self.freed().kept);
                for address in kept.into_values().flatten() {
                    // SAFETY: it was allocated and is not in use. What fails here is reported by the next call.
                    let _ = unsafe { result::free_sync(address) };
                }
                new()
            }),
        };
        let address = allocated.map_err(failed("cannot allocate memory of the GPU"))?;
        self.freed().used.insert(address, size);
        Ok(address)
    }

    fn free(&self, address: Address) {
        let mut freed = self.freed();
        if let Some(size) = freed.used.remove(&address) {
            freed.kept.entry(size).or_default().push(address);
        }
    }

    fn write(&self, address: Address, bytes: &[u8]) -> Result<(), GpuError> {
        self.bind()?;
        // SAFETY: `Memory` writes at most as many bytes as it has allocated.
        let written = unsafe { result::memcpy_htod_sync(address, bytes) };
        written.map_err(failed("cannot write to the GPU"))?;
        self.wait()
    }

    fn clear(&self, address: Address, bytes: usize) -> Result<(), GpuError> {
        self.bind()?;
        // SAFETY: `Memory` clears the bytes that it has allocated.
        let cleared = unsafe { result::memset_d8_sync(address, 0, bytes) };
        cleared.map_err(failed("cannot clear memory of the GPU"))?;
        self.wait()
    }

    fn read(&self, address: Address, bytes: &mut [u8]) -> Result<(), GpuError> {
        self.bind()?;
        // SAFETY: `Memory` reads at most as many bytes as it has allocated.
        let read = unsafe { result::memcpy_dtoh_sync(bytes, address) };
        read.map_err(failed("cannot read from the GPU"))
    }

    fn queue(&self) -> Result<Box<dyn Queue + '_>, GpuError> {
        self.bind()?;
        let stream = self.context.new_stream();
        Ok(Box::new(CudaQueue {
            card: self,
            stream: stream.map_err(failed("cannot open a queue on the GPU"))?,
            job: Memory::new(self, size_of::<Job>())?,
            end: None,
        }))
    }
}

struct CudaQueue<'c> {
    card: &'c CudaCard,
    stream: Arc<CudaStream>,
    /// A copy of the job.
    job: Memory<'c>,
    /// The end of the last launch.
    end: Option<CudaEvent>,
}

impl Queue for CudaQueue<'_> {
    fn launch(&mut self, kernel: Kernel, job: &Job, grid: Grid) -> Result<(), GpuError> {
        let Function(function, _) = self.card.function(kernel)?;
        let failed = failed("a launch failed");
        let mut job = *job;
        job.copy = self.job.address;
        // SAFETY: a job is numbers without gaps between them.
        let bytes =
            unsafe { std::slice::from_raw_parts((&raw const job).cast(), size_of::<Job>()) };
        self.card.write(self.job.address, bytes)?;
        // SAFETY: the kernel has one argument, a `Job`, which the driver copies now. Its addresses are those of `Memory` values
        // that live until the launch has ended, with the sizes that the kernel expects.
        unsafe {
            result::launch_kernel(
                function,
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                grid.shared,
                self.stream.cu_stream(),
                &mut [(&raw mut job).cast()],
            )
        }
        .map_err(failed)?;
        self.end = Some(self.stream.record_event(None).map_err(failed)?);
        Ok(())
    }

    fn is_idle(&mut self) -> Result<bool, GpuError> {
        self.card.bind()?;
        let done = match &self.end {
            Some(end) => end.try_is_complete(),
            None => Ok(true),
        };
        done.map_err(failed("a launch failed"))
    }
}

impl Drop for CudaQueue<'_> {
    // Memory must not be freed while a launch uses it.
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
    }
}

fn failed(action: &'static str) -> impl Fn(DriverError) -> GpuError + Copy {
    move |error| match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::Memory(describe(error)),
        _ => GpuError::Failed {
            action,
            reason: describe(error),
        },
    }
}

/// The driver's name and text of an error.
fn describe(error: DriverError) -> String {
    let text = |text: Result<&CStr, DriverError>| {
        let text = text.map(|text| text.to_string_lossy().into_owned());
        text.unwrap_or_else(|_| "unknown error".into())
    };
    format!(
        "{} ({})",
        text(error.error_string()),
        text(error.error_name())
    )
}
