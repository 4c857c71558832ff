//! Quantities as a problem file states them: a number, an expression, or a nested array of those.

use std::ops::Range;
use std::sync::Arc;

use emab::Quantity;
use emab::spec::{Point, QuantityError};

use crate::error::Mistake;
use crate::expression::{Expression, Scope};
use crate::node::{Kind, Node};

/// One index of an array: which variable it is, how long it is and what to call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimension {
    /// Position in `[t, x, a, f]`.
    pub(crate) variable: usize,
    pub(crate) length: usize,
    pub(crate) name: &'static str,
}

/// What is needed to read a quantity.
pub(crate) struct Reading<'a> {
    pub(crate) source: &'a str,
    pub(crate) scope: &'a Scope,
    pub(crate) quantity: &'static str,
    pub(crate) variables: &'a [&'a str],
    /// Whether `true` and `false` stand for 1 and 0.
    pub(crate) booleans: bool,
}

/// A quantity of a problem file.
#[derive(Debug)]
pub(crate) struct Table {
    dimensions: Vec<Dimension>,
    root: Entry,
    whole: Range<usize>,
}

/// A table that the problem and the file both hold: the one to evaluate it, the other to say where it stands.
#[derive(Clone, Debug)]
pub(crate) struct SharedTable(pub(crate) Arc<Table>);

impl Quantity for SharedTable {
    fn at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, QuantityError> {
        self.0.at(t, x, a, f)
    }
}

#[derive(Debug)]
enum Entry {
    Number(f64),
    Formula(Box<Formula>),
    Row(Vec<Entry>, Range<usize>),
}

#[derive(Debug)]
struct Formula {
    expression: Expression,
    /// Where the expression's text begins in the file, if it stands there without escapes.
    start: Option<usize>,
    whole: Range<usize>,
}

impl Formula {
    /// A fault of the expression, at its place in the file.
    fn placed(&self, fault: QuantityError) -> QuantityError {
        place(fault, self.start, &self.whole)
    }
}

fn place(fault: QuantityError, start: Option<usize>, whole: &Range<usize>) -> QuantityError {
    let span = match (start, fault.span) {
        (Some(start), Some(span)) => start + span.start..start + span.end,
        _ => whole.clone(),
    };
    QuantityError {
        message: fault.message,
        span: Some(span),
    }
}

impl Quantity for Table {
    fn at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, QuantityError> {
        let index = [t - 1, x, a, f];
        let mut entry = &self.root;
        for dimension in &self.dimensions {
            let Entry::Row(row, _) = entry else { break };
            let i = if row.len() == 1 {
                0
            } else {
                index[dimension.variable]
            };
            entry = row.get(i).ok_or_else(|| QuantityError {
                message: format!("there is no entry {i} among the {}", dimension.name),
                span: None,
            })?;
        }
        match entry {
            Entry::Number(value) => Ok(*value),
            Entry::Formula(formula) => formula
                .expression
                .evaluate([t as f64, x as f64, a as f64, f as f64])
                .map_err(|fault| formula.placed(fault)),
            Entry::Row(..) => Err(QuantityError {
                message: "an array has too many dimensions".into(),
                span: None,
            }),
        }
    }
}

impl Table {
    /// Reads a quantity whose arrays have these dimensions, outermost first.
    pub(crate) fn read(
        node: &Node,
        dimensions: &[Dimension],
        reading: &Reading<'_>,
    ) -> Result<Table, Mistake> {
        // A single number or expression has no dimensions at all.
        let dimensions = match node.kind {
            Kind::Array(_) => dimensions.to_vec(),
            _ => Vec::new(),
        };
        let root = entry(node, &dimensions, reading)?;
        let whole = node.span.clone();
        Ok(Table {
            dimensions,
            root,
            whole,
        })
    }

    /// Where the value at a point stands: the expression, or the row that the number is in.
    pub(crate) fn span(&self, point: Point) -> Range<usize> {
        let index = [Some(point.t - 1), Some(point.x), point.a, point.f];
        let (mut entry, mut span) = (&self.root, &self.whole);
        for dimension in &self.dimensions {
            let Entry::Row(row, row_span) = entry else {
                break;
            };
            span = row_span;
            let i = if row.len() == 1 {
                Some(0)
            } else {
                index[dimension.variable]
            };
            let Some(inner) = i.and_then(|i| row.get(i)) else {
                break;
            };
            entry = inner;
        }
        match entry {
            Entry::Formula(formula) => formula.whole.clone(),
            Entry::Row(_, row_span) => row_span.clone(),
            Entry::Number(_) => span.clone(),
        }
    }
}

fn entry(node: &Node, rest: &[Dimension], reading: &Reading<'_>) -> Result<Entry, Mistake> {
    let Some((dimension, inner)) = rest.split_first() else {
        return leaf(node, reading);
    };
    let shape: Vec<&str> = rest.iter().map(|d| d.name).collect();
    let Kind::Array(items) = &node.kind else {
        let message = format!(
            "`{}` must be a nested array of {} here",
            reading.quantity,
            shape.join(", ")
        );
        let mistake = Mistake::at(&node.span, message, format!("got {}", node.what()));
        return Err(mistake.help(
            "a dimension that does not matter is a list of one entry: [[1, 2]] has two entries of the second",
        ));
    };
    if items.len() != dimension.length && items.len() != 1 {
        let expected = if dimension.length == 1 {
            "1".into()
        } else {
            format!("{} or 1", dimension.length)
        };
        let message = format!("`{}` has {} entries here", reading.quantity, items.len());
        let label = format!(
            "expected {expected}, one for each of the {}",
            dimension.name
        );
        return Err(Mistake::at(&node.span, message, label));
    }
    let row = items
        .iter()
        .map(|item| entry(item, inner, reading))
        .collect::<Result<_, _>>()?;
    Ok(Entry::Row(row, node.span.clone()))
}

fn leaf(node: &Node, reading: &Reading<'_>) -> Result<Entry, Mistake> {
    match &node.kind {
        Kind::Number(value) => Ok(Entry::Number(*value)),
        Kind::Bool(value) if reading.booleans => Ok(Entry::Number(f64::from(u8::from(*value)))),
        Kind::Text(text) => {
            let start = node.text_start(reading.source);
            match Expression::parse(text, reading.variables, reading.scope) {
                Ok(expression) => Ok(Entry::Formula(Box::new(Formula {
                    expression,
                    start,
                    whole: node.span.clone(),
                }))),
                Err(fault) => {
                    let fault = place(fault, start, &node.span);
                    let message =
                        format!("the expression for `{}` cannot be read", reading.quantity);
                    let span = fault.span.unwrap_or(node.span.clone());
                    Err(Mistake::at(&span, message, fault.message))
                }
            }
        }
        _ => {
            let message = format!(
                "`{}` must be a number or an expression here",
                reading.quantity
            );
            Err(Mistake::at(
                &node.span,
                message,
                format!("got {}", node.what()),
            ))
        }
    }
}
