//! Pratt parser of expressions.

use std::ops::Range;

use emab::input::did_you_mean;
use emab::spec::QuantityError;

use super::{
    Binary, COMPARISON, Expression, FUNCTIONS, Kind, MAX_CHAIN, MAX_DEPTH, MINUS, NOT, SymbolTable,
    Unary, fault,
};

impl Expression {
    /// Parses an expression that may use these variables and the names in scope; spans are bytes of `text`.
    pub(crate) fn parse(
        text: &str,
        variables: &[&str],
        scope: &SymbolTable,
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

/// The signs of operators, longer ones first; an error is what to write in place of a sign.
const OPERATORS: [(&str, Result<Binary, &str>); 17] = [
    ("==", Ok(Binary::Equal)),
    ("!=", Ok(Binary::Unequal)),
    ("<=", Ok(Binary::LessEqual)),
    (">=", Ok(Binary::GreaterEqual)),
    ("**", Err("`^`")),
    ("&&", Err("`and`")),
    ("||", Err("`or`")),
    ("<", Ok(Binary::Less)),
    (">", Ok(Binary::Greater)),
    ("+", Ok(Binary::Add)),
    ("-", Ok(Binary::Subtract)),
    ("*", Ok(Binary::Multiply)),
    ("/", Ok(Binary::Divide)),
    ("%", Ok(Binary::Remainder)),
    ("^", Ok(Binary::Power)),
    ("=", Err("`==`")),
    ("!", Err("`not`")),
];

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    variables: &'a [&'a str],
    scope: &'a SymbolTable,
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
        let rest = &self.text[start..];
        if let Some((sign, op)) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            let span = start..start + sign.len();
            return match op {
                Ok(op) => Ok((Token::Operator(*op), span)),
                Err(right) => Err(fault(format!("write {right} instead"), span)),
            };
        }
        match first {
            b'(' => Ok((Token::Open, start..start + 1)),
            b')' => Ok((Token::Close, start..start + 1)),
            b',' => Ok((Token::Comma, start..start + 1)),
            b'\'' => match rest[1..].find('\'') {
                Some(length) => {
                    let name = &rest[1..1 + length];
                    Ok((Token::Quoted(name.into()), start..start + length + 2))
                }
                None => Err(fault("this quote is not closed", start..self.text.len())),
            },
            b'0'..=b'9' | b'.' => self.number(start),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let length = end.unwrap_or(rest.len());
                let span = start..start + length;
                Ok(match &rest[..length] {
                    "and" => (Token::Operator(Binary::And), span),
                    "or" => (Token::Operator(Binary::Or), span),
                    name => (Token::Name(name.into()), span),
                })
            }
            _ => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                let message = "this character means nothing in an expression";
                Err(fault(message, start..start + length))
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

    /// An expression of operators of at least this precedence.
    fn expression(&mut self, precedence: u8) -> Result<Expression, QuantityError> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH {
            let message =
                format!("brackets and operators may be nested {MAX_DEPTH} deep, not deeper");
            Err(fault(message, self.peek()?.1))
        } else {
            self.operators(precedence)
        };
        self.depth -= 1;
        result
    }

    fn operators(&mut self, precedence: u8) -> Result<Expression, QuantityError> {
        let mut left = self.operand()?;
        loop {
            let (token, span) = self.peek()?;
            let Token::Operator(op) = token else {
                return Ok(left);
            };
            if op.precedence() < precedence {
                return Ok(left);
            }
            self.next()?;
            // `^` is right-associative, the other operators left-associative.
            let tighter = u8::from(op != Binary::Power);
            let right = self.expression(op.precedence() + tighter)?;
            if op.precedence() == COMPARISON
                && matches!(self.peek()?.0, Token::Operator(next) if next.precedence() == COMPARISON)
            {
                let message = "comparisons do not chain; join two of them with `and`";
                return Err(fault(message, self.peek()?.1));
            }
            let height = left.height.max(right.height) + 1;
            if height > MAX_CHAIN {
                let message = format!("an expression may have {MAX_CHAIN} operators in a row");
                return Err(fault(message, span));
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
                None => {
                    let message = format!("no state, action or feedback is called '{name}'");
                    Err(fault(message, span))
                }
            },
            Token::End => Err(fault("the expression ends too early", span)),
            Token::Operator(_) | Token::Close | Token::Comma => {
                Err(fault("a number, a name or a bracket must stand here", span))
            }
        }
    }

    fn unary(
        &mut self,
        op: Unary,
        precedence: u8,
        start: usize,
    ) -> Result<Expression, QuantityError> {
        let inner = self.expression(precedence)?;
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
            let near = did_you_mean(name, FUNCTIONS.iter().map(|f| f.0));
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
        if let "true" | "false" = name {
            return Ok(Kind::Number(f64::from(u8::from(name == "true"))));
        }
        if let Some(i) = SymbolTable::VARIABLES.iter().position(|v| *v == name) {
            if self.variables.contains(&name) {
                return Ok(Kind::Variable(i));
            }
            let known = self.variables.join("`, `");
            let message = format!("`{name}` is not available here; there are `{known}`");
            return Err(fault(message, span));
        }
        if let Some(value) = self.value(name, span.clone())? {
            return Ok(Kind::Number(value));
        }
        if FUNCTIONS.iter().any(|(function, _, _)| *function == name) {
            let message = format!("`{name}` is a function: its arguments stand in brackets");
            return Err(fault(message, span));
        }
        let mut names: Vec<&str> = self.scope.values.keys().map(String::as_str).collect();
        names.extend(self.variables);
        names.sort_unstable();
        let remedy = match did_you_mean(name, names) {
            none if none.is_empty() => "; declare it in `parameters`".into(),
            near => near,
        };
        Err(fault(format!("unknown name `{name}`{remedy}"), span))
    }

    fn value(&self, name: &str, span: Range<usize>) -> Result<Option<f64>, QuantityError> {
        if let Some(why) = self.scope.ambiguous.get(name) {
            return Err(fault(format!("`{name}` is ambiguous: {why}"), span));
        }
        Ok(self.scope.values.get(name).copied())
    }
}
