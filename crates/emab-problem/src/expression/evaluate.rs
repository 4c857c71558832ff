//! Evaluation of expressions. The result is a finite number or an error that points at the part without a value.

use emab::spec::{QuantityError, format_number};

use super::{Binary, Expression, FUNCTIONS, Function, Kind, Unary, fault, poisson};

impl Expression {
    /// The value at `[t, x, a, f]`: a finite number, or an error with its place.
    pub(crate) fn evaluate(&self, at: [f64; 4]) -> Result<f64, QuantityError> {
        let value = match &self.kind {
            Kind::Number(value) => return Ok(*value),
            Kind::Variable(i) => return Ok(at[*i]),
            Kind::Unary(Unary::Minus, inner) => -inner.evaluate(at)?,
            Kind::Unary(Unary::Not, inner) => truth(inner.evaluate(at)? == 0.0),
            Kind::Binary(op, left, right) => {
                let left = left.evaluate(at)?;
                match op {
                    Binary::Or if left != 0.0 => return Ok(1.0),
                    Binary::And if left == 0.0 => return Ok(0.0),
                    _ => {}
                }
                let right = right.evaluate(at)?;
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
                let result = call(*function, &values);
                let value = result.unwrap_or(f64::NAN);
                if !value.is_finite() {
                    // `ln` and `log` are one function with two names; only `log` takes two arguments.
                    let name = FUNCTIONS
                        .iter()
                        .find(|(_, f, takes)| f == function && takes.contains(&values.len()))
                        .map_or("", |f| f.0);
                    let list: Vec<String> = values.iter().map(|&v| format_number(v)).collect();
                    let why = match result {
                        Err(rule) => format!(": {rule}"),
                        Ok(_) => " has no finite value".into(),
                    };
                    let message = format!("{name}({}){why}", list.join(", "));
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
        // libm gives the same bits on every platform.
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

/// The value of a function, not finite where it has none, or the rule that its arguments break.
fn call(function: Function, values: &[f64]) -> Result<f64, &'static str> {
    let first = values[0];
    Ok(match function {
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
        Function::Poisson => poisson::probability(first, values[1])?,
        Function::PoissonTail => poisson::tail(first, values[1])?,
    })
}
