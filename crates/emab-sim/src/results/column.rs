//! Columns of a table of results; every value may be missing.

/// A column.
///
/// ```
/// use emab_sim::results::{Column, Values};
/// let column = Column { name: "regret".into(), values: Values::Numbers(vec![Some(1.5), None]) };
/// assert_eq!(column.values.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values, one per row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts.
    Counts(Vec<Option<u64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Values {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Counts(values) => values.len(),
            Values::Numbers(values) => values.len(),
            Values::Texts(values) => values.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
