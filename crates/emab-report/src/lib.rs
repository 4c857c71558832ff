//! Tables, plots and reports of results. This crate reads results and computes none.

#![forbid(unsafe_code)]

mod arena;
mod arena_pairs;
mod bounds;
mod claim;
mod csv_parquet;
mod document;
mod guarantee;
mod logs;
mod mdp;
mod npz;
mod plot;
mod policy;
mod report;
mod run_table;
mod runs_table;
mod text_table;

pub use arena::{arena_csv, arena_text};
pub use arena_pairs::pairs_csv;
pub use bounds::{bounds_rows, bounds_text};
pub use claim::{Claim, Verdict, claims_table};
pub use csv_parquet::{table_csv, table_parquet};
pub use document::{Block, Document, STYLE, figure, html_page, inline};
pub use guarantee::{guarantees_table, percent};
pub use logs::{evaluation_text, plan_text, replay_text};
pub use mdp::{TooLarge, mdp_document, mdp_npz, mdp_table};
pub use plot::{
    AxisRange, HeatAxis, HeatCell, HeatMap, LegendPlace, Picture, PlotError, PlotOptions, Series,
    SeriesPoint, arena_options, draw_arena, draw_curves, draw_heat_maps, draw_regret_map,
    draw_sweep_lines, read_regret_map, regret_map_csv,
};
pub use policy::{policy_table, sequence_text};
pub use report::{ArenaContent, Content, Entry, RunContent, SweepContent, report};
pub use run_table::{
    bound_note, bound_series, confidence, curve_csv, lower_bound_series, quantile_series,
    regret_cells, regret_rows, regret_series, regret_table,
};
pub use runs_table::{
    UNRELIABLE_NOTE, distribution_rows, distribution_table, final_regret, group_notes,
    interval_note, write_runs,
};
pub use text_table::{number, table, wrap};
