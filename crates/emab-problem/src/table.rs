//! Quantities of a problem file: a number, an expression, or a nested array of these.

use std::ops::Range;
use std::sync::Arc;

use emab::Quantity;
use emab::spec::{Point, QuantityError};

use crate::error::Diagnostic;
use crate::expression::{Expression, SymbolTable};
use crate::spanned::{SpannedValue, ValueKind};

/// One index of an array: variable, length and name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimension {
    /// Position in `[t, x, a, f]`.
    pub(crate) variable: usize,
    pub(crate) length: usize,
    pub(crate) name: &'static str,
}

/// Inputs for parsing a quantity.
pub(crate) struct QuantityContext<'a> {
    pub(crate) source: &'a str,
    pub(crate) scope: &'a SymbolTable,
    pub(crate) quantity: &'static str,
    pub(crate) variables: &'a [&'a str],
    /// Whether `true` and `false` are accepted as 1 and 0.
    pub(crate) booleans: bool,
}

/// A quantity of a problem file.
#[derive(Debug)]
pub(crate) struct Table {
    dimensions: Vec<Dimension>,
    root: Entry,
    whole: Range<usize>,
}

/// A table shared by the problem, which evaluates it, and the file, which locates its entries.
#[derive(Clone, Debug)]
pub(crate) struct SharedTable(pub(crate) Arc<Table>);

#[derive(Debug)]
enum Entry {
    Number(f64),
    Formula(Box<Formula>),
    Row(Vec<Entry>, Range<usize>),
}

#[derive(Debug)]
struct Formula {
    expression: Expression,
    /// Where the text of the expression begins in the file, if it has no escapes.
    start: Option<usize>,
    whole: Range<usize>,
}

/// Converts the place of a fault from the expression to the file.
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

impl Quantity for SharedTable {
    fn at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, QuantityError> {
        let index = [t - 1, x, a, f];
        let mut entry = &self.0.root;
        for dimension in &self.0.dimensions {
            let Entry::Row(row, _) = entry else { break };
            let i = match row.len() {
                1 => 0,
                _ => index[dimension.variable],
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
                .map_err(|fault| place(fault, formula.start, &formula.whole)),
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
        node: &SpannedValue,
        dimensions: &[Dimension],
        context: &QuantityContext<'_>,
    ) -> Result<Table, Diagnostic> {
        // A single number or expression has no dimensions.
        let dimensions = match node.kind {
            ValueKind::Array(_) => dimensions.to_vec(),
            _ => Vec::new(),
        };
        let root = entry(node, &dimensions, context)?;
        let whole = node.span.clone();
        Ok(Table {
            dimensions,
            root,
            whole,
        })
    }

    /// Place of the value at a point: the expression, or the row of the number.
    pub(crate) fn span(&self, point: Point) -> Range<usize> {
        let index = [Some(point.t - 1), Some(point.x), point.a, point.f];
        let (mut entry, mut span) = (&self.root, &self.whole);
        for dimension in &self.dimensions {
            let Entry::Row(row, row_span) = entry else {
                break;
            };
            span = row_span;
            let i = match row.len() {
                1 => Some(0),
                _ => index[dimension.variable],
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

fn entry(
    node: &SpannedValue,
    rest: &[Dimension],
    context: &QuantityContext<'_>,
) -> Result<Entry, Diagnostic> {
    let Some((dimension, inner)) = rest.split_first() else {
        return leaf(node, context);
    };
    let shape: Vec<&str> = rest.iter().map(|d| d.name).collect();
    let ValueKind::Array(items) = &node.kind else {
        let message = format!(
            "`{}` must be a nested array of {} here",
            context.quantity,
            shape.join(", ")
        );
        let diagnostic = node.wrong_type(message);
        return Err(diagnostic.help(
            "a dimension that does not matter is a list of one entry: [[1, 2]] has two entries of the second",
        ));
    };
    if items.len() != dimension.length && items.len() != 1 {
        let expected = match dimension.length {
            1 => "1".into(),
            length => format!("{length} or 1"),
        };
        let message = format!("`{}` has {} entries here", context.quantity, items.len());
        let name = dimension.name;
        let label = format!("expected {expected}, one for each of the {name}");
        return Err(Diagnostic::at(&node.span, message, label));
    }
    let row = items.iter().map(|item| entry(item, inner, context));
    Ok(Entry::Row(
        row.collect::<Result<_, _>>()?,
        node.span.clone(),
    ))
}

fn leaf(node: &SpannedValue, context: &QuantityContext<'_>) -> Result<Entry, Diagnostic> {
    match &node.kind {
        ValueKind::Number(value) => Ok(Entry::Number(*value)),
        ValueKind::Bool(value) if context.booleans => {
            Ok(Entry::Number(f64::from(u8::from(*value))))
        }
        ValueKind::Text(text) => {
            let start = node.text_start(context.source);
            match Expression::parse(text, context.variables, context.scope) {
                Ok(expression) => Ok(Entry::Formula(Box::new(Formula {
                    expression,
                    start,
                    whole: node.span.clone(),
                }))),
                Err(fault) => {
                    let fault = place(fault, start, &node.span);
                    let message =
                        format!("the expression for `{}` cannot be read", context.quantity);
                    let span = fault.span.unwrap_or(node.span.clone());
                    Err(Diagnostic::at(&span, message, fault.message))
                }
            }
        }
        _ => {
            let message = format!(
                "`{}` must be a number or an expression here",
                context.quantity
            );
            Err(node.wrong_type(message))
        }
    }
}
