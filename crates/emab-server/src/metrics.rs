//! stand-in until the edge lands
/// Counts.
#[derive(Clone, Default)]
pub struct Metrics;
#[allow(missing_docs)]
impl Metrics {
    pub fn taken(&self, _n: usize) {}
    pub fn committed(&self, _n: usize, _d: std::time::Duration) {}
    pub fn appended(&self, _n: u64) {}
    pub fn store_error(&self) {}
}
