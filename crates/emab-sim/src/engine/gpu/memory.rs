//! Where the tables of the threads lie: in shared memory where enough threads fit into it, otherwise in the memory of the card.

use super::card::{Card, CardLimits, GpuError, Grid, Kernel};
use super::job::Layout;
use super::learner::CardLearner;

/// Threads of a multiprocessor below which tables lie in the memory of the card: fewer threads cannot hide the time that their
/// instructions take.
const FEWEST_THREADS: u32 = 128;

/// The most threads of a block: what the kernels are compiled for, see `tools/kernels`.
pub(crate) const MOST_THREADS: u32 = 256;

/// Runs of up to this many episodes have counts of 16 bits.
const SHORT: u64 = 65_000;

/// The tables and lists of all threads may take one part of so many of the free memory of a card.
const SHARE: u64 = 3;

/// The kernel of a job, the size of its launches, and where its tables lie.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kernel: Kernel,
    /// A launch that fills the card.
    pub(crate) grid: Grid,
    pub(crate) layout: Layout,
    /// Bytes of a thread's table in the memory of the card.
    pub(crate) table_size: u64,
    /// Whether the records of the rows are copied to shared memory.
    pub(crate) rows_in_shared: bool,
}

/// What a plan depends on.
pub(crate) struct Sizes<'a> {
    pub(crate) learner: &'a CardLearner,
    pub(crate) entries: usize,
    /// Transitions whose counts the learner keeps.
    pub(crate) transitions: usize,
    /// Bytes of the records of all rows.
    pub(crate) records: usize,
    pub(crate) episodes: u64,
    pub(crate) runs: u64,
    /// Bytes of the short rows, if the problem has them and last choices are not listed.
    pub(crate) short_rows: Option<usize>,
    /// Bytes that a thread needs in the memory of the card besides its table.
    pub(crate) lists: u64,
}

impl Plan {
    pub(crate) fn new(card: &dyn Card, sizes: &Sizes<'_>) -> Result<Plan, GpuError> {
        let limits = card.limits()?;
        let short = sizes.episodes <= SHORT;
        let kernel = match sizes.learner.kernel() {
            Kernel::FeedBal if short && sizes.short_rows.is_some() => Kernel::FeedBalOneAction,
            Kernel::FeedBal if short => Kernel::FeedBalShared,
            kernel => kernel,
        };
        let bytes = sizes.thread_bytes(matches!(
            kernel,
            Kernel::FeedBalOneAction | Kernel::FeedBalShared
        ));
        if let Some(plan) = shared(card, &limits, kernel, bytes, sizes)? {
            return Ok(plan);
        }
        global(card, &limits, sizes)
    }
}

impl Sizes<'_> {
    /// The number of sums and of counts of a thread.
    fn sums_and_counts(&self) -> (usize, usize) {
        let arms = self.learner.arms();
        let sums = match self.learner {
            // Of gains and of costs.
            CardLearner::FeedBalBernstein(_) => 2 * self.entries,
            _ if self.learner.has_sums() => self.entries,
            _ => arms,
        };
        (sums, self.entries + arms + self.transitions)
    }

    fn thread_bytes(&self, short: bool) -> usize {
        let (sums, counts) = self.sums_and_counts();
        8 * sums + if short { 2 } else { 4 } * counts
    }

    /// The blocks whose tables and lists fit into the memory of the card.
    fn fit(&self, limits: &CardLimits, threads: u32, table_size: u64) -> u64 {
        let block = (table_size + self.lists) * u64::from(threads);
        limits.free / SHARE / block.max(1)
    }

    /// The blocks that the runs need, if not all that fit.
    fn blocks(&self, threads: u32, most: u32) -> u32 {
        let needed = self.runs.div_ceil(u64::from(threads));
        u32::try_from(needed).unwrap_or(u32::MAX).min(most).max(1)
    }
}

/// The blocks with the most threads in all; none if too few threads fit.
fn shared(
    card: &dyn Card,
    limits: &CardLimits,
    kernel: Kernel,
    bytes: usize,
    sizes: &Sizes<'_>,
) -> Result<Option<Plan>, GpuError> {
    let size = match kernel {
        Kernel::FeedBalOneAction => sizes.short_rows.unwrap_or_default(),
        _ => sizes.records,
    };
    let best_with = |records| best_block(card, limits, kernel, bytes, records, sizes.runs);
    let with_records = best_with(size)?;
    // Records come with the tables if that costs no thread; short rows always do.
    let without = match kernel {
        Kernel::FeedBalOneAction => None,
        _ => Some(best_with(0)?).filter(|without| without.resident > with_records.resident),
    };
    let rows_in_shared = without.is_none();
    let best = without.unwrap_or(with_records);
    let wanted = sizes.runs.div_ceil(u64::from(limits.multiprocessors));
    if best.resident == 0 || u64::from(best.resident) < wanted.min(u64::from(FEWEST_THREADS)) {
        return Ok(None);
    }
    let threads = best.threads;
    let (sums, _) = sizes.sums_and_counts();
    let blocks = best.resident / threads * limits.multiprocessors;
    let blocks = u64::from(sizes.blocks(threads, blocks)).min(sizes.fit(limits, threads, 0));
    if blocks == 0 {
        return Ok(None);
    }
    let records = if rows_in_shared { size } else { 0 };
    Ok(Some(Plan {
        kernel,
        grid: Grid {
            blocks: blocks as u32,
            threads,
            shared: (records + bytes * threads as usize) as u32,
        },
        layout: Layout {
            in_shared: 1,
            sum_stride: 8 * threads,
            count_stride: 4 * threads,
            thread_sum_stride: 8,
            thread_count_stride: 4,
            counts_at: 8 * threads * sums as u32,
        },
        table_size: 0,
        rows_in_shared,
    }))
}

struct Block {
    threads: u32,
    /// Threads of a multiprocessor.
    resident: u32,
}

fn best_block(
    card: &dyn Card,
    limits: &CardLimits,
    kernel: Kernel,
    bytes: usize,
    records: usize,
    runs: u64,
) -> Result<Block, GpuError> {
    let mut best = Block {
        threads: 32,
        resident: 0,
    };
    // Few runs are spread over all multiprocessors.
    let even = runs
        .div_ceil(u64::from(limits.multiprocessors))
        .div_ceil(32)
        * 32;
    for threads in (32..=MOST_THREADS).step_by(32) {
        let size = records + bytes * threads as usize;
        if size > limits.shared_of_block as usize || (threads > 32 && u64::from(threads) > even) {
            break;
        }
        let fit = limits.shared / (size as u32 + limits.shared_reserved).max(1);
        let resident = (fit * threads).min(card.most_threads(kernel, threads)?);
        if resident > best.resident {
            best = Block { threads, resident };
        }
    }
    Ok(best)
}

fn global(card: &dyn Card, limits: &CardLimits, sizes: &Sizes<'_>) -> Result<Plan, GpuError> {
    let kernel = sizes.learner.kernel();
    let (sums, counts) = sizes.sums_and_counts();
    let (layout, table_size) = if sizes.learner.has_sums() {
        // Sum and count of an entry beside each other, so that one access brings both. What follows the entries lies likewise.
        let size = 16 * sums.max(counts) as u64;
        let layout = Layout {
            sum_stride: 16,
            count_stride: 16,
            counts_at: 8,
            ..Layout::default()
        };
        (layout, size)
    } else {
        let layout = Layout {
            sum_stride: 8,
            count_stride: 4,
            counts_at: 8 * sums as u32,
            ..Layout::default()
        };
        (
            layout,
            (8 * sums as u64 + 4 * counts as u64).next_multiple_of(16),
        )
    };
    let threads = 64;
    let blocks = card.most_threads(kernel, threads)? / threads * limits.multiprocessors;
    let blocks =
        u64::from(sizes.blocks(threads, blocks)).min(sizes.fit(limits, threads, table_size));
    let stride = u32::try_from(table_size).ok();
    match stride.filter(|_| blocks > 0) {
        Some(stride) => Ok(Plan {
            kernel,
            grid: Grid {
                blocks: blocks as u32,
                threads,
                shared: 0,
            },
            layout: Layout {
                thread_sum_stride: stride,
                thread_count_stride: stride,
                ..layout
            },
            table_size,
            rows_in_shared: false,
        }),
        None => Err(GpuError::Memory(format!(
            "the tables of {threads} runs do not fit"
        ))),
    }
}
