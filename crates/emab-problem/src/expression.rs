//! Expressions over `t x a f`, parameters and names: a Pratt parser and an evaluator that never returns a NaN.
//!
//! From loosest to tightest: `or`, `and`, `not`, comparisons (which do not chain), `+ -`, `* / %`, unary minus, `^`
//! (to the right, so `2^3^2 = 512` and `-2^2 = -4`). Comparisons give 1 or 0; anything but 0 is true; `if`, `and`
//! and `or` evaluate only what they need. `%` has the sign of its divisor, as in Python, so `(x - 1) % n` is a state.
//! `log` is natural, like `ln`; `log(v, b)` has base `b`. `round` takes halves away from 0.

use std::collections::HashMap;
use std::ops::Range;

use emab::learners::nearest;
use emab::spec::{QuantityError, format_number};

/// The names an expression may use besides `t x a f`, and their values.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    values: HashMap<String, f64>,
    /// Names that stand for two different values.
    ambiguous: HashMap<String, String>,
}

impl Scope {
    /// The variables, in the order of the evaluator's arguments.
    pub const VARIABLES: [&'static str; 4] = ["t", "x", "a", "f"];

    /// Adds a name; one that already has another value becomes ambiguous.
    pub fn add(&mut self, name: &str, value: f64) {
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

    /// Gives a name another value.
    pub(crate) fn set(&mut self, name: &str, value: f64) {
        self.values.insert(name.into(), value);
    }

    /// Takes a name away.
    pub(crate) fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Whether a name means something in every expression. A parameter cannot have it; a state, action or feedback
    /// that has it is written in quotes.
    pub fn reserved(name: &str) -> bool {
        Self::VARIABLES.contains(&name)
            || WORDS.contains(&name)
            || FUNCTIONS.iter().any(|(function, _, _)| *function == name)
    }
}

const WORDS: [&str; 6] = ["and", "or", "not", "true", "false", "stop"];

/// Brackets and operators within one another.
const DEEPEST: usize = 200;
/// The longest chain of operators of one level, such as a sum.
const LONGEST: usize = 2000;

/// An expression that was read.
///
/// ```
/// use emab_problem::{Expression, Scope};
/// let mut scope = Scope::default();
/// scope.add("beta", 0.9);
/// let reward = Expression::parse("beta^(t-1) * x", &["t", "x"], &scope).unwrap();
/// assert_eq!(reward.evaluate([1.0, 3.0, 0.0, 0.0]).unwrap(), 3.0);
/// assert_eq!(Expression::parse("1 +", &[], &scope).unwrap_err().message, "the expression ends too early");
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
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
    /// How tightly it binds.
    fn level(self) -> u8 {
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
}

/// Name, function, and how many arguments it takes.
const FUNCTIONS: [(&str, Function, Range<usize>); 11] = [
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
];

fn fault(message: impl Into<String>, span: Range<usize>) -> QuantityError {
    QuantityError {
        message: message.into(),
        span: Some(span),
    }
}

impl Expression {
    /// Reads an expression that may use these variables and the names in scope; spans are bytes of `text`.
    pub fn parse(
        text: &str,
        variables: &[&str],
        scope: &Scope,
    ) -> Result<Expression, QuantityError> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            variables,
            scope,
        };
        let expression = parser.expression(0)?;
        match parser.peek()? {
            (Token::End, _) => Ok(expression),
            (Token::Name(_) | Token::Number(_), span) => {
                Err(fault("an operator is missing before this", span))
            }
            (_, span) => Err(fault("this does not belong here", span)),
        }
    }

    /// Its value at `[t, x, a, f]`: a finite number, or what has none and where.
    pub fn evaluate(&self, at: [f64; 4]) -> Result<f64, QuantityError> {
        let value = match &self.kind {
            Kind::Number(value) => return Ok(*value),
            Kind::Variable(i) => return Ok(at[*i]),
            Kind::Unary(Unary::Minus, inner) => -inner.evaluate(at)?,
            Kind::Unary(Unary::Not, inner) => truth(inner.evaluate(at)? == 0.0),
            Kind::Binary(Binary::Or, left, right) => {
                truth(left.evaluate(at)? != 0.0 || right.evaluate(at)? != 0.0)
            }
            Kind::Binary(Binary::And, left, right) => {
                truth(left.evaluate(at)? != 0.0 && right.evaluate(at)? != 0.0)
            }
            Kind::Binary(op, left, right) => {
                let (left, right) = (left.evaluate(at)?, right.evaluate(at)?);
                let value = binary(*op, left, right);
                if !value.is_finite() {
                    return Err(fault(no_value(*op, left, right), self.span.clone()));
                }
                value
            }
            Kind::Call(Function::If, arguments) => {
                let chosen = if arguments[0].evaluate(at)? != 0.0 {
                    1
                } else {
                    2
                };
                arguments[chosen].evaluate(at)?
            }
            Kind::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(argument.evaluate(at)?);
                }
                let value = call(*function, &values);
                if !value.is_finite() {
                    // `ln` and `log` are one function with two names; two arguments tell.
                    let name = FUNCTIONS
                        .iter()
                        .find(|(_, f, takes)| f == function && takes.contains(&values.len()))
                        .map_or("", |f| f.0);
                    let list: Vec<String> = values.iter().map(|&v| format_number(v)).collect();
                    let message = format!("{name}({}) has no finite value", list.join(", "));
                    return Err(fault(message, self.span.clone()));
                }
                value
            }
        };
        Ok(value)
    }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn binary(op: Binary, left: f64, right: f64) -> f64 {
    match op {
        Binary::Or => truth(left != 0.0 || right != 0.0),
        Binary::And => truth(left != 0.0 && right != 0.0),
        Binary::Equal => truth(left == right),
        Binary::Unequal => truth(left != right),
        Binary::Less => truth(left < right),
        Binary::LessEqual => truth(left <= right),
        Binary::Greater => truth(left > right),
        Binary::GreaterEqual => truth(left >= right),
        Binary::Add => left + right,
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::Divide => left / right,
        Binary::Remainder => {
            let rest = left % right;
            if rest != 0.0 && (rest < 0.0) != (right < 0.0) {
                rest + right
            } else {
                rest
            }
        }
        // libm, not the platform: the same bits everywhere.
        Binary::Power => libm::pow(left, right),
    }
}

fn no_value(op: Binary, left: f64, right: f64) -> String {
    let by_zero = right == 0.0;
    let (left, right) = (format_number(left), format_number(right));
    match op {
        Binary::Divide | Binary::Remainder if by_zero => {
            let sign = if op == Binary::Divide { "/" } else { "%" };
            format!("division by zero: {left} {sign} {right}")
        }
        Binary::Power => format!("{left} ^ {right} has no finite value"),
        _ => format!("the result of {left} and {right} is too large"),
    }
}

fn call(function: Function, values: &[f64]) -> f64 {
    let first = values[0];
    match function {
        Function::If => f64::NAN,
        Function::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        Function::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Function::Abs => first.abs(),
        Function::Floor => first.floor(),
        Function::Ceil => first.ceil(),
        Function::Round => first.round(),
        Function::Sqrt => first.sqrt(),
        Function::Exp => libm::exp(first),
        Function::Log => match values.get(1) {
            Some(&base) => libm::log(first) / libm::log(base),
            None => libm::log(first),
        },
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Quoted(String),
    Operator(Binary),
    Open,
    Close,
    Comma,
    End,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    variables: &'a [&'a str],
    scope: &'a Scope,
}

impl Parser<'_> {
    fn peek(&self) -> Result<(Token, Range<usize>), QuantityError> {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        while bytes.get(start).is_some_and(u8::is_ascii_whitespace) {
            start += 1;
        }
        let Some(&first) = bytes.get(start) else {
            return Ok((Token::End, self.text.len()..self.text.len()));
        };
        let two = self.text.get(start..start + 2).unwrap_or("");
        let operator = |op, length| Ok((Token::Operator(op), start..start + length));
        let instead = |length: usize, right: &str| {
            Err(fault(
                format!("write {right} instead"),
                start..start + length,
            ))
        };
        match two {
            "==" => return operator(Binary::Equal, 2),
            "!=" => return operator(Binary::Unequal, 2),
            "<=" => return operator(Binary::LessEqual, 2),
            ">=" => return operator(Binary::GreaterEqual, 2),
            "**" => return instead(2, "`^`"),
            "&&" => return instead(2, "`and`"),
            "||" => return instead(2, "`or`"),
            _ => {}
        }
        match first {
            b'<' => operator(Binary::Less, 1),
            b'>' => operator(Binary::Greater, 1),
            b'+' => operator(Binary::Add, 1),
            b'-' => operator(Binary::Subtract, 1),
            b'*' => operator(Binary::Multiply, 1),
            b'/' => operator(Binary::Divide, 1),
            b'%' => operator(Binary::Remainder, 1),
            b'^' => operator(Binary::Power, 1),
            b'(' => Ok((Token::Open, start..start + 1)),
            b')' => Ok((Token::Close, start..start + 1)),
            b',' => Ok((Token::Comma, start..start + 1)),
            b'=' => instead(1, "`==`"),
            b'!' => instead(1, "`not`"),
            b'\'' => match self.text[start + 1..].find('\'') {
                Some(length) => {
                    let name = &self.text[start + 1..start + 1 + length];
                    Ok((Token::Quoted(name.into()), start..start + length + 2))
                }
                None => Err(fault("this quote is not closed", start..self.text.len())),
            },
            b'0'..=b'9' | b'.' => self.number(start),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let rest = &self.text[start..];
                let length = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(rest.len());
                let span = start..start + length;
                Ok(match &rest[..length] {
                    "and" => (Token::Operator(Binary::And), span),
                    "or" => (Token::Operator(Binary::Or), span),
                    name => (Token::Name(name.into()), span),
                })
            }
            _ => {
                let length = self.text[start..].chars().next().map_or(1, char::len_utf8);
                Err(fault(
                    "this character means nothing in an expression",
                    start..start + length,
                ))
            }
        }
    }

    fn number(&self, start: usize) -> Result<(Token, Range<usize>), QuantityError> {
        let bytes = self.text.as_bytes();
        let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        let mut end = start;
        while digit(end) || bytes.get(end) == Some(&b'.') {
            end += 1;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if digit(end + 1 + sign) {
                end += 1 + sign;
                while digit(end) {
                    end += 1;
                }
            }
        }
        match self.text[start..end].parse::<f64>() {
            Ok(value) if value.is_finite() => Ok((Token::Number(value), start..end)),
            Ok(_) => Err(fault("this number is too large", start..end)),
            Err(_) => Err(fault("this is not a number", start..end)),
        }
    }

    fn next(&mut self) -> Result<(Token, Range<usize>), QuantityError> {
        let (token, span) = self.peek()?;
        self.at = span.end;
        Ok((token, span))
    }

    /// An expression of operators that bind at least as tightly as `level`.
    fn expression(&mut self, level: u8) -> Result<Expression, QuantityError> {
        self.depth += 1;
        let result = if self.depth > DEEPEST {
            let (_, span) = self.peek()?;
            Err(fault(
                format!("brackets and operators may be nested {DEEPEST} deep, not deeper"),
                span,
            ))
        } else {
            self.operators(level)
        };
        self.depth -= 1;
        result
    }

    fn operators(&mut self, level: u8) -> Result<Expression, QuantityError> {
        let mut left = self.operand()?;
        loop {
            let (token, span) = self.peek()?;
            let Token::Operator(op) = token else {
                return Ok(left);
            };
            if op.level() < level {
                return Ok(left);
            }
            self.next()?;
            // `^` takes the rest to its right, the others only what binds tighter.
            let tighter = if op == Binary::Power {
                op.level()
            } else {
                op.level() + 1
            };
            let right = self.expression(tighter)?;
            if op.level() == COMPARISON
                && matches!(self.peek()?.0, Token::Operator(next) if next.level() == COMPARISON)
            {
                let (_, span) = self.peek()?;
                return Err(fault(
                    "comparisons do not chain; join two of them with `and`",
                    span,
                ));
            }
            let height = left.height.max(right.height) + 1;
            if height > LONGEST {
                return Err(fault(
                    format!("an expression may have {LONGEST} operators in a row"),
                    span,
                ));
            }
            left = Expression {
                span: left.span.start..right.span.end,
                kind: Kind::Binary(op, Box::new(left), Box::new(right)),
                height,
            };
        }
    }

    fn operand(&mut self) -> Result<Expression, QuantityError> {
        let (token, span) = self.next()?;
        let leaf = |kind, span| Expression {
            kind,
            span,
            height: 1,
        };
        match token {
            Token::Number(value) => Ok(leaf(Kind::Number(value), span)),
            Token::Open => {
                let mut inner = self.expression(0)?;
                let end = self.close(&span)?;
                inner.span = span.start..end;
                Ok(inner)
            }
            Token::Operator(Binary::Subtract) => self.unary(Unary::Minus, MINUS, span.start),
            Token::Name(name) if name == "not" => self.unary(Unary::Not, NOT, span.start),
            Token::Name(name) if self.peek()?.0 == Token::Open => self.function(&name, span),
            Token::Name(name) => Ok(leaf(self.name(&name, span.clone())?, span)),
            Token::Quoted(name) => match self.value(&name, span.clone())? {
                Some(value) => Ok(leaf(Kind::Number(value), span)),
                None => Err(fault(
                    format!("no state, action or feedback is called '{name}'"),
                    span,
                )),
            },
            Token::End => Err(fault("the expression ends too early", span)),
            Token::Operator(_) | Token::Close | Token::Comma => {
                Err(fault("a number, a name or a bracket must stand here", span))
            }
        }
    }

    fn unary(&mut self, op: Unary, level: u8, start: usize) -> Result<Expression, QuantityError> {
        let inner = self.expression(level)?;
        Ok(Expression {
            span: start..inner.span.end,
            height: inner.height + 1,
            kind: Kind::Unary(op, Box::new(inner)),
        })
    }

    fn close(&mut self, open: &Range<usize>) -> Result<usize, QuantityError> {
        match self.next()? {
            (Token::Close, span) => Ok(span.end),
            (Token::End, _) => Err(fault("this bracket is not closed", open.clone())),
            (_, span) => Err(fault("a closing bracket must stand here", span)),
        }
    }

    fn function(&mut self, name: &str, span: Range<usize>) -> Result<Expression, QuantityError> {
        let Some((_, function, takes)) = FUNCTIONS.iter().find(|(known, _, _)| *known == name)
        else {
            let near = nearest(name, FUNCTIONS.iter().map(|f| f.0));
            let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            return Err(fault(format!("there is no function `{name}`{near}"), span));
        };
        let (_, open) = self.next()?;
        let mut arguments = Vec::new();
        let end = loop {
            if arguments.is_empty() && self.peek()?.0 == Token::Close {
                break self.next()?.1.end;
            }
            arguments.push(self.expression(0)?);
            match self.next()? {
                (Token::Comma, _) => {}
                (Token::Close, span) => break span.end,
                (Token::End, _) => return Err(fault("this bracket is not closed", open)),
                (_, span) => {
                    return Err(fault("a comma or a closing bracket must stand here", span));
                }
            }
        };
        let span = span.start..end;
        if !takes.contains(&arguments.len()) {
            let count = match (takes.start, takes.end) {
                (least, usize::MAX) => format!("at least {least}"),
                (least, most) if most == least + 1 => format!("{least}"),
                (least, most) => format!("{least} to {}", most - 1),
            };
            let message = format!("`{name}` takes {count} arguments, got {}", arguments.len());
            return Err(fault(message, span));
        }
        Ok(Expression {
            span,
            height: 1 + arguments.iter().map(|a| a.height).max().unwrap_or(0),
            kind: Kind::Call(*function, arguments),
        })
    }

    fn name(&self, name: &str, span: Range<usize>) -> Result<Kind, QuantityError> {
        match name {
            "true" => return Ok(Kind::Number(1.0)),
            "false" => return Ok(Kind::Number(0.0)),
            _ => {}
        }
        if let Some(i) = Scope::VARIABLES.iter().position(|v| *v == name) {
            if self.variables.contains(&name) {
                return Ok(Kind::Variable(i));
            }
            let known = self.variables.join("`, `");
            return Err(fault(
                format!("`{name}` is not known here; there are `{known}`"),
                span,
            ));
        }
        if let Some(value) = self.value(name, span.clone())? {
            return Ok(Kind::Number(value));
        }
        if FUNCTIONS.iter().any(|(function, _, _)| *function == name) {
            return Err(fault(
                format!("`{name}` is a function: its arguments stand in brackets"),
                span,
            ));
        }
        let mut names: Vec<&str> = self.scope.values.keys().map(String::as_str).collect();
        names.extend(self.variables);
        names.sort_unstable();
        let near = nearest(name, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        Err(fault(format!("unknown name `{name}`{near}"), span))
    }

    fn value(&self, name: &str, span: Range<usize>) -> Result<Option<f64>, QuantityError> {
        if let Some(why) = self.scope.ambiguous.get(name) {
            return Err(fault(format!("`{name}` is ambiguous: {why}"), span));
        }
        Ok(self.scope.values.get(name).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<f64, QuantityError> {
        let mut scope = Scope::default();
        scope.add("p", 0.8);
        scope.add("in situ", 1.0);
        scope.add("low", 0.0);
        scope.add("low", 2.0);
        Expression::parse(text, &["t", "x", "a", "f"], &scope)?.evaluate([2.0, 3.0, 0.0, 1.0])
    }

    #[test]
    fn arithmetic_as_in_mathematics() {
        for (text, expected) in [
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("1/2", 0.5),
            ("7 - 2 - 1", 4.0),
            ("12 / 2 / 3", 2.0),
            ("2 + 3 * 4", 14.0),
            ("(2 + 3) * 4", 20.0),
            ("-3 % 2 ", 1.0),
            ("(0 - 1) % 10", 9.0),
            ("7 % 3", 1.0),
            ("1.5e1 + .5", 15.5),
            ("not 0 + 1", 0.0),
            ("not x == 4", 1.0),
            ("1 < 2 and 2 < 1 or 1", 1.0),
            ("1 or 0 and 0", 1.0),
            ("if(x == 0, 1 / 0, 1 / x)", 1.0 / 3.0),
            ("x > 5 and 1 / 0", 0.0),
            ("x < 5 or 1 / 0", 1.0),
            ("min(3, 1, 2) + max(3, 1, 2)", 4.0),
            ("floor(-0.5) + ceil(0.5) + round(0.5)", 1.0),
            ("abs(-3) + sqrt(16)", 7.0),
            ("ln(exp(2)) + log(exp(2)) + log(8, 2)", 7.0),
            ("'in situ' + p", 1.8),
            ("true + false", 1.0),
            ("- - 3", 3.0),
            ("2 * -3", -6.0),
        ] {
            let got = value(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert!(
                (got - expected).abs() < 1e-12,
                "{text} = {got}, expected {expected}"
            );
        }
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, message, place) in [
            ("1 / (x - 3)", "division by zero: 1 / 0", "1 / (x - 3)"),
            ("2 + ln(0)", "ln(0) has no finite value", "ln(0)"),
            ("sqrt(0 - 1)", "sqrt(-1) has no finite value", "sqrt(0 - 1)"),
            (
                "1e308 * 10",
                "the result of 1e308 and 10 is too large",
                "1e308 * 10",
            ),
            ("q + 1", "unknown name `q`, did you mean `a`?", "q"),
            (
                "mim(1)",
                "there is no function `mim`, did you mean `min`?",
                "mim",
            ),
            ("x = 1", "write `==` instead", "="),
            ("x ** 2", "write `^` instead", "**"),
            (
                "0 < x < 2",
                "comparisons do not chain; join two of them with `and`",
                "<",
            ),
            ("(1 + 2", "this bracket is not closed", "("),
            ("1 + 2)", "this does not belong here", ")"),
            ("2 x", "an operator is missing before this", "x"),
            ("if(1, 2)", "`if` takes 3 arguments, got 2", "if(1, 2)"),
            ("", "the expression ends too early", ""),
            (
                "1 + ü",
                "this character means nothing in an expression",
                "ü",
            ),
            (
                "low",
                "`low` is ambiguous: it stands for both 0 and 2",
                "low",
            ),
            ("1.2.3", "this is not a number", "1.2.3"),
        ] {
            let fault = value(text).unwrap_err();
            assert_eq!(fault.message, message, "{text}");
            let span = fault.span.unwrap();
            assert_eq!(&text[span], place, "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let deep = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
        assert!(value(&deep).unwrap_err().message.contains("200 deep"));
        assert!(
            value(&"-".repeat(100_000))
                .unwrap_err()
                .message
                .contains("200 deep")
        );
        assert!(
            value(&"2^".repeat(100_000))
                .unwrap_err()
                .message
                .contains("200 deep")
        );
        let long = vec!["1"; 100_000].join("+");
        assert!(value(&long).unwrap_err().message.contains("2000 operators"));
        assert_eq!(value(&vec!["1"; 2000].join("+")).unwrap(), 2000.0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+*/^%()<>=!,.'0-9a-z ü]{0,40}") {
            if let Ok(value) = value(&text) {
                prop_assert!(value.is_finite());
            }
        }
    }
}
