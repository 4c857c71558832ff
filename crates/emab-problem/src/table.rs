//! Quantities of a problem file: a number, an expression, or a nested array of these.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use emab::Quantity;
use emab::input::counted;
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
    /// The expressions so far, by text.
    pub(crate) expressions: RefCell<HashMap<String, Arc<Expression>>>,
}

impl QuantityContext<'_> {
    fn expression(&self, text: &str) -> Result<Arc<Expression>, QuantityError> {
        if let Some(known) = self.expressions.borrow().get(text) {
            return Ok(known.clone());
        }
        let parsed = Arc::new(Expression::parse(text, self.variables, self.scope)?);
        let mut known = self.expressions.borrow_mut();
        known.insert(text.into(), parsed.clone());
        Ok(parsed)
    }
}

/// A quantity of a problem file. It has no places: errors find them in the document.
#[derive(Debug)]
pub(crate) struct Table {
    dimensions: Vec<Dimension>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Numbers only, and all arrays of a dimension have one length: the lengths, and the numbers in order. Tables may have millions.
    Dense(Vec<usize>, Box<[f64]>),
    Tree(Entry),
}

/// A table shared by the problem, which evaluates it, and the file, which locates its entries.
#[derive(Clone, Debug)]
pub(crate) struct SharedTable(pub(crate) Arc<Table>);

#[derive(Debug)]
enum Entry {
    Number(f64),
    Formula(Box<Formula>),
    Row(Box<[Entry]>),
}

#[derive(Debug)]
struct Formula {
    /// Entries with the same text share it.
    expression: Arc<Expression>,
    /// Where the text of the expression begins in the file, if it has no escapes.
    start: Option<usize>,
    whole: Range<usize>,
}

/// Converts the place of a fault from the expression to the file.
fn located(fault: QuantityError, start: Option<usize>, whole: &Range<usize>) -> QuantityError {
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
        let place = |dimension: &Dimension, length: usize| match (length, index[dimension.variable])
        {
            (1, _) => Ok(0),
            (_, i) if i < length => Ok(i),
            (_, i) => Err(QuantityError {
                message: format!("there is no entry {i} among the {}", dimension.name),
                span: None,
            }),
        };
        let dimensions = self.0.dimensions.iter();
        let mut entry = match &self.0.content {
            Content::Dense(lengths, numbers) => {
                let mut offset = 0;
                for (dimension, &length) in dimensions.zip(lengths) {
                    offset = offset * length + place(dimension, length)?;
                }
                return Ok(numbers[offset]);
            }
            Content::Tree(root) => root,
        };
        for dimension in dimensions {
            let Entry::Row(row) = entry else { break };
            entry = &row[place(dimension, row.len())?];
        }
        match entry {
            Entry::Number(value) => Ok(*value),
            Entry::Formula(formula) => formula
                .expression
                .evaluate([t as f64, x as f64, a as f64, f as f64])
                .map_err(|fault| located(fault, formula.start, &formula.whole)),
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
        let mut lengths = vec![0; dimensions.len()];
        let mut numbers = Vec::new();
        let content = match dense(node, &dimensions, context, &mut lengths, &mut numbers) {
            Some(()) if !dimensions.is_empty() => Content::Dense(lengths, numbers.into()),
            _ => Content::Tree(entry(node, &dimensions, context)?),
        };
        Ok(Table {
            dimensions,
            content,
        })
    }

    /// Place of the value at a point in the document of the quantity: the expression, or the row of the number.
    pub(crate) fn span(&self, mut node: &SpannedValue, point: Point) -> Range<usize> {
        let index = [Some(point.t - 1), Some(point.x), point.a, point.f];
        let mut span = &node.span;
        for dimension in &self.dimensions {
            let ValueKind::Array(row) = &node.kind else {
                break;
            };
            span = &node.span;
            let i = match row.len() {
                1 => Some(0),
                _ => index[dimension.variable],
            };
            let Some(inner) = i.and_then(|i| row.get(i)) else {
                break;
            };
            node = inner;
        }
        match &node.kind {
            ValueKind::Number(_) | ValueKind::Bool(_) => span.clone(),
            _ => node.span.clone(),
        }
    }
}

/// Appends the numbers of a table; none if it is not dense.
fn dense(
    node: &SpannedValue,
    rest: &[Dimension],
    context: &QuantityContext<'_>,
    lengths: &mut [usize],
    numbers: &mut Vec<f64>,
) -> Option<()> {
    let (Some((dimension, inner)), Some((length, inner_lengths))) =
        (rest.split_first(), lengths.split_first_mut())
    else {
        numbers.push(as_number(node, context)?);
        return Some(());
    };
    let ValueKind::Array(items) = &node.kind else {
        return None;
    };
    let fits = items.len() == dimension.length || items.len() == 1;
    let same = *length == 0 || *length == items.len();
    if !fits || !same {
        return None;
    }
    *length = items.len();
    for item in items {
        dense(item, inner, context, inner_lengths, numbers)?;
    }
    Some(())
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
        let found = counted(items.len(), "entry");
        let message = format!("`{}` has {found} here", context.quantity);
        let name = dimension.name;
        let label = format!("expected {expected}, one for each of the {name}");
        return Err(Diagnostic::explained(&node.span, message, label));
    }
    let row = items.iter().map(|item| entry(item, inner, context));
    Ok(Entry::Row(row.collect::<Result<_, _>>()?))
}

fn as_number(node: &SpannedValue, context: &QuantityContext<'_>) -> Option<f64> {
    match &node.kind {
        ValueKind::Number(value) => Some(*value),
        ValueKind::Bool(value) if context.booleans => Some(f64::from(u8::from(*value))),
        _ => None,
    }
}

fn leaf(node: &SpannedValue, context: &QuantityContext<'_>) -> Result<Entry, Diagnostic> {
    if let Some(value) = as_number(node, context) {
        return Ok(Entry::Number(value));
    }
    match &node.kind {
        ValueKind::Text(text) => {
            let start = node.text_start(context.source);
            match context.expression(text) {
                Ok(expression) => Ok(Entry::Formula(Box::new(Formula {
                    expression,
                    start,
                    whole: node.span.clone(),
                }))),
                Err(fault) => {
                    let fault = located(fault, start, &node.span);
                    let message =
                        format!("the expression for `{}` cannot be read", context.quantity);
                    let span = fault.span.unwrap_or(node.span.clone());
                    Err(Diagnostic::explained(&span, message, fault.message))
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
