//! Expressions over `t x a f`, parameters and names: a Pratt parser and an evaluator that never returns NaN.
//!
//! From loosest to tightest: `or`, `and`, `not`, comparisons (which do not chain), `+ -`, `* / %`, unary minus, `^`
//! (to the right, so `2^3^2 = 512` and `-2^2 = -4`). Comparisons give 1 or 0; anything but 0 is true; `if`, `and`
//! and `or` evaluate only what they need. `%` has the sign of its divisor, as in Python, so `(x - 1) % n` is a state.
//! `log` is natural, like `ln`; `log(v, b)` has base `b`. `round` rounds halves away from 0. `poisson(k, m)` is the
//! probability of `k` events where `m` are expected, `poisson_tail(k, m)` that of at least `k`.

mod evaluate;
mod parser;
mod poisson;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use emab::spec::QuantityError;

/// Names that an expression may use besides `t x a f`, with their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolTable {
    values: HashMap<String, f64>,
    /// Names that stand for two different values.
    ambiguous: HashMap<String, String>,
}

impl SymbolTable {
    /// The variables, in the order of the evaluator's arguments.
    pub(crate) const VARIABLES: [&'static str; 4] = ["t", "x", "a", "f"];

    /// Adds a name; one that already has another value becomes ambiguous.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        match self.values.get(name) {
            Some(&old) if old != value => {
                let why = format!("it stands for both {old} and {value}");
                self.ambiguous.insert(name.into(), why);
            }
            _ => {
                self.values.insert(name.into(), value);
            }
        }
    }

    /// Replaces the value of a name.
    pub(crate) fn set(&mut self, name: &str, value: f64) {
        self.values.insert(name.into(), value);
    }

    /// Removes a name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Whether a name is reserved. A parameter cannot have such a name; a state, action or feedback of such a name
    /// is written in quotes.
    pub(crate) fn reserved(name: &str) -> bool {
        Self::VARIABLES.contains(&name)
            || KEYWORDS.contains(&name)
            || FUNCTIONS.iter().any(|(function, _, _)| *function == name)
    }
}

const KEYWORDS: [&str; 6] = ["and", "or", "not", "true", "false", "stop"];

/// Deepest nesting of brackets and operators.
const MAX_DEPTH: usize = 200;
/// Longest chain of operators of one level, such as a sum.
const MAX_CHAIN: usize = 2000;

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    kind: Kind,
    span: Range<usize>,
    height: usize,
}

#[derive(Clone, Debug)]
enum Kind {
    Number(f64),
    Variable(usize),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unary {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

impl Binary {
    /// Precedence.
    fn precedence(self) -> u8 {
        use Binary::*;
        match self {
            Or => 1,
            And => 2,
            Equal | Unequal | Less | LessEqual | Greater | GreaterEqual => COMPARISON,
            Add | Subtract => 5,
            Multiply | Divide | Remainder => 6,
            Power => 8,
        }
    }
}

const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const MINUS: u8 = 7;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    If,
    Min,
    Max,
    Abs,
    Floor,
    Ceil,
    Round,
    Sqrt,
    Exp,
    Log,
    Poisson,
    PoissonTail,
}

/// Name, function and number of arguments.
const FUNCTIONS: [(&str, Function, Range<usize>); 13] = [
    ("if", Function::If, 3..4),
    ("min", Function::Min, 1..usize::MAX),
    ("max", Function::Max, 1..usize::MAX),
    ("abs", Function::Abs, 1..2),
    ("floor", Function::Floor, 1..2),
    ("ceil", Function::Ceil, 1..2),
    ("round", Function::Round, 1..2),
    ("sqrt", Function::Sqrt, 1..2),
    ("exp", Function::Exp, 1..2),
    ("ln", Function::Log, 1..2),
    ("log", Function::Log, 1..3),
    ("poisson", Function::Poisson, 2..3),
    ("poisson_tail", Function::PoissonTail, 2..3),
];

fn fault(message: impl Into<String>, span: Range<usize>) -> QuantityError {
    QuantityError {
        message: message.into(),
        span: Some(span),
    }
}
