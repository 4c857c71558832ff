//! Pratt parser of expressions.

use std::ops::Range;

use emab::learners::nearest;
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

    /// An expression of operators of at least this precedence.
    fn expression(&mut self, precedence: u8) -> Result<Expression, QuantityError> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH {
            let (_, span) = self.peek()?;
            Err(fault(
                format!("brackets and operators may be nested {MAX_DEPTH} deep, not deeper"),
                span,
            ))
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
            let tighter = if op == Binary::Power {
                op.precedence()
            } else {
                op.precedence() + 1
            };
            let right = self.expression(tighter)?;
            if op.precedence() == COMPARISON
                && matches!(self.peek()?.0, Token::Operator(next) if next.precedence() == COMPARISON)
            {
                let (_, span) = self.peek()?;
                return Err(fault(
                    "comparisons do not chain; join two of them with `and`",
                    span,
                ));
            }
            let height = left.height.max(right.height) + 1;
            if height > MAX_CHAIN {
                return Err(fault(
                    format!("an expression may have {MAX_CHAIN} operators in a row"),
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
        if let Some(i) = SymbolTable::VARIABLES.iter().position(|v| *v == name) {
            if self.variables.contains(&name) {
                return Ok(Kind::Variable(i));
            }
            let known = self.variables.join("`, `");
            return Err(fault(
                format!("`{name}` is not available here; there are `{known}`"),
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
