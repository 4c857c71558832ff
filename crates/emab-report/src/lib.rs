//! What people look at: tables, plots, result files and verdicts. Knows results, not engines.

#![forbid(unsafe_code)]

mod arena;
mod bounds;
mod claim;
mod document;
mod frame;
mod mdp;
mod npz;
mod plot;
mod policy;
mod promise;
mod regret;
mod table;

pub use arena::{arena_csv, arena_text};
pub use bounds::{bounds_text, bounds_words};
pub use claim::{Claim, Verdict, claims_table};
pub use document::{Block, Document};
pub use frame::{table_csv, table_parquet};
pub use mdp::{SolvedMdp, TooLarge};
pub use plot::{
    Family, HeatAxis, HeatCell, HeatMap, Picture, PlotError, PlotOptions, Series, SeriesPoint,
    draw, draw_arena, draw_family, draw_heat_map, draw_heat_maps, draw_places, places_csv,
};
pub use policy::policy_table;
pub use promise::promises_table;
pub use regret::{
    bound_series, bound_words, confidence, curve_csv, regret_cells, regret_series, regret_table,
};
pub use table::{number, table};
