//! What a launch is given: the same fields in the same order as in `kernel/job.h`.

/// An address in the memory of a card; 0 for none.
pub(crate) type Address = u64;

/// Where a thread's table lies, see `kernel/job.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Layout {
    pub(crate) in_shared: u32,
    pub(crate) sum_stride: u32,
    pub(crate) count_stride: u32,
    pub(crate) thread_sum_stride: u32,
    pub(crate) thread_count_stride: u32,
    pub(crate) counts_at: u32,
}

/// Noise as the scale of a standard normal, plus a scaled uniform and a constant.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct NoiseTransform {
    pub(crate) scale: f64,
    pub(crate) slope: f64,
    pub(crate) offset: f64,
    pub(crate) is_bernoulli: u64,
}

/// The arguments of a kernel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Job {
    /// Set by a launch.
    pub(crate) copy: Address,
    pub(crate) rows: Address,
    pub(crate) rows_size: u64,
    pub(crate) bounds: Address,
    pub(crate) nexts: Address,
    pub(crate) starts: Address,
    pub(crate) reward_noise: NoiseTransform,
    pub(crate) cost_noise: NoiseTransform,
    pub(crate) has_normal: u32,
    pub(crate) has_uniform: u32,
    pub(crate) actions: u32,
    pub(crate) feedbacks: u32,
    pub(crate) start_count: u32,
    pub(crate) row_count: u32,
    pub(crate) rows_in_shared: u32,
    pub(crate) record_size: u32,

    pub(crate) losses: Address,
    pub(crate) cause_ends: [u32; 3],
    pub(crate) row_losses: u32,
    pub(crate) snapshot_count: u32,
    pub(crate) first_entry: u32,

    pub(crate) action_index: Address,
    pub(crate) stop_index: Address,
    pub(crate) first_sums: Address,
    pub(crate) policy: Address,
    pub(crate) plans: Address,
    pub(crate) plan_at: Address,
    pub(crate) radius: Address,
    pub(crate) by_count: Address,
    pub(crate) ziggurat: Address,
    pub(crate) ties_random: u32,
    pub(crate) virtual_updates: u32,
    pub(crate) entries: u32,
    pub(crate) arms: u32,
    pub(crate) prior_mean: f64,
    pub(crate) prior_variance: f64,
    pub(crate) noise_action: f64,
    pub(crate) noise_stop: f64,
    pub(crate) transition_at: Address,
    pub(crate) transition_to: Address,
    pub(crate) reward_width: Address,
    pub(crate) action_width: Address,
    pub(crate) n_log_n: Address,
    pub(crate) log_gamma: Address,
    pub(crate) log_bounds: f64,
    pub(crate) max_spread: f64,

    pub(crate) tables: Address,
    pub(crate) table_size: u64,
    pub(crate) layout: Layout,
    pub(crate) visited: Address,
    pub(crate) snapshots: Address,
    pub(crate) last: Address,
    pub(crate) half: Address,

    pub(crate) benchmark_entries: Address,
    pub(crate) good: Address,
    pub(crate) benchmark_count: u32,
    pub(crate) half_at: u32,

    pub(crate) runs: Address,
    pub(crate) seed: u64,
    pub(crate) checkpoints: Address,
    pub(crate) checkpoint_count: u32,
    pub(crate) run_count: u32,
    pub(crate) next_run: Address,
    pub(crate) halt: Address,
    pub(crate) played: Address,
    pub(crate) halt_mask: u64,

    pub(crate) at: Address,
    pub(crate) causes: Address,
    pub(crate) steps: Address,
    pub(crate) stuck: Address,
    pub(crate) chosen: Address,
    pub(crate) ended_with: Address,
}
