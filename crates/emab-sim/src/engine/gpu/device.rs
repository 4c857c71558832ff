//! Where runs are played.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use super::card::{Card, GpuError};
use super::cuda::CudaCard;

/// Cells that are played at once on a card.
const CELLS_AT_ONCE: usize = 32;

/// Interval between two attempts to take memory.
const WAIT: Duration = Duration::from_millis(20);

/// Where runs shall be played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// On the processor.
    #[default]
    Cpu,
    /// On a card; an error if there is none.
    Gpu,
    /// On a card if there is one, else on the processor.
    Auto,
}

/// The text is no device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a device is `cpu`, `gpu` or `auto`, got `{0}`")]
pub struct UnknownDevice(String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<DeviceChoice, UnknownDevice> {
        match text {
            "cpu" => Ok(DeviceChoice::Cpu),
            "gpu" => Ok(DeviceChoice::Gpu),
            "auto" => Ok(DeviceChoice::Auto),
            other => Err(UnknownDevice(other.into())),
        }
    }
}

/// The processor, or a card of this machine.
///
/// Results do not depend on it. What a card does not support is played on the processor, and so is everything after it has failed;
/// [`Device::take_notices`] says so.
#[derive(Clone, Debug, Default)]
pub struct Device {
    card: Option<Arc<OpenCard>>,
    notices: Arc<Mutex<Notices>>,
}

#[derive(Debug)]
struct OpenCard {
    card: Box<dyn Card>,
    has_failed: AtomicBool,
    /// Held while memory is divided.
    dividing: Mutex<()>,
    /// Learners that have memory.
    playing: AtomicUsize,
    /// Held while the processor plays in place of the card.
    processor: Mutex<()>,
}

/// A learner that has memory of the card.
pub(crate) struct Playing<'a>(&'a AtomicUsize);

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Notices {
    new: Vec<String>,
    all: BTreeSet<String>,
}

impl Device {
    /// The processor.
    pub fn processor() -> Device {
        Device::default()
    }

    /// Opens a device. Fails if a card is asked for and there is none; [`DeviceChoice::Auto`] leaves a notice instead.
    pub fn open(choice: DeviceChoice) -> Result<Device, GpuError> {
        if choice == DeviceChoice::Cpu {
            return Ok(Device::processor());
        }
        match CudaCard::open() {
            Ok(card) => Ok(Device::of_card(card)),
            Err(error) if choice == DeviceChoice::Gpu => Err(error),
            Err(error) => {
                let device = Device::processor();
                device.note(format!("the processor is used: {error}"));
                Ok(device)
            }
        }
    }

    pub(crate) fn of_card(card: impl Card + 'static) -> Device {
        Device {
            card: Some(Arc::new(OpenCard {
                card: Box::new(card),
                has_failed: AtomicBool::new(false),
                dividing: Mutex::default(),
                playing: AtomicUsize::new(0),
                processor: Mutex::default(),
            })),
            notices: Arc::default(),
        }
    }

    /// The name of the card, if there is one.
    pub fn gpu_name(&self) -> Option<&str> {
        self.card.as_deref().map(|open| open.card.name())
    }

    /// How many cells of a sweep to play at once: several fill a card that one does not.
    pub fn cells_at_once(&self) -> usize {
        if self.card().is_some() {
            CELLS_AT_ONCE
        } else {
            1
        }
    }

    /// What is played on the processor, and why: the notices since the last call, each once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices().new)
    }

    /// The card, unless it has failed.
    pub(crate) fn card(&self) -> Option<&dyn Card> {
        let open = self.card.as_deref()?;
        (!open.has_failed.load(Ordering::Relaxed)).then_some(&*open.card)
    }

    /// Takes memory of the card with `take`. If there is too little, waits until another learner has ended, unless `stop` is set.
    pub(crate) fn wait_for_memory<T>(
        &self,
        stop: &AtomicBool,
        mut take: impl FnMut() -> Result<T, GpuError>,
    ) -> Result<(Option<Playing<'_>>, T), GpuError> {
        let Some(open) = self.card.as_deref() else {
            return Ok((None, take()?));
        };
        loop {
            let is_alone = open.playing.load(Ordering::Relaxed) == 0;
            match take() {
                Err(GpuError::Memory(_)) if !is_alone && !stop.load(Ordering::Relaxed) => {
                    thread::sleep(WAIT);
                }
                taken => {
                    let taken = taken?;
                    open.playing.fetch_add(1, Ordering::Relaxed);
                    return Ok((Some(Playing(&open.playing)), taken));
                }
            }
        }
    }

    /// Held while a learner looks how much memory is free and takes its share.
    pub(crate) fn divide_memory(&self) -> Option<MutexGuard<'_, ()>> {
        let dividing = self.card.as_deref().map(|open| open.dividing.lock());
        dividing.map(|dividing| dividing.unwrap_or_else(PoisonError::into_inner))
    }

    /// Held while the processor plays in place of a card: one learner at a time, on all threads.
    pub(crate) fn processor_turn(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.card.as_deref().map(|open| open.processor.lock());
        turn.map(|turn| turn.unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a notice.
    pub(crate) fn note(&self, notice: String) {
        let mut notices = self.notices();
        if notices.all.insert(notice.clone()) {
            notices.new.push(notice);
        }
    }

    /// Adds the notice that the processor plays a learner.
    pub(crate) fn note_processor(&self, learner: &str, reason: String) {
        self.note(format!("{learner} is played on the processor: {reason}"));
    }

    /// Stops using the card.
    pub(crate) fn fail(&self, error: &GpuError) {
        // Others that use it at the same time fail too; the first reason is enough.
        let open = self.card.as_deref();
        if open.is_some_and(|open| !open.has_failed.swap(true, Ordering::Relaxed)) {
            self.note(format!(
                "the GPU failed, and the processor plays what is left: {error}"
            ));
        }
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
