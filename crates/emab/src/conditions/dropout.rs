//! Dropout: a probability, or a function of the step, the state, the action and its feedback.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Probability;
use crate::parameter::ParameterError;
use crate::spec::Quantity;

/// The probability, after a continuation action, that the episode ends without a stop: a constant, or a function
/// `q(t, x, a, f)` of the step, its state, its action and its feedback.
///
/// A function is written as an expression or as nested arrays, which the reader of the problem file compiles. Two of them
/// are equal if they are written the same.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Model, Problem, Spec, conditions::Dropout, oracle::Benchmark};
/// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| t as f64);
/// let late = Dropout::function("if(t == 2, 0.5, 0)", |t, _x, _a, _f| if t == 2 { 0.5 } else { 0.0 });
/// let problem = Problem::new("wait", spec, model).with_dropout(late);
/// let mut benchmark = Benchmark::new(Arc::new(problem)).unwrap();
/// assert_eq!(benchmark.start_value().unwrap(), 3.0); // the reward of step 3 in any case
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "DropoutText", into = "DropoutText")]
pub struct Dropout {
    text: DropoutText,
    function: Option<Arc<dyn Quantity>>,
}

/// A dropout as files have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DropoutText {
    /// A probability.
    Number(f64),
    /// An expression over `t x a f`.
    Expression(String),
    /// An array, nested by step, state, action and feedback.
    Array(Vec<DropoutText>),
}

impl Dropout {
    /// A function, with the text that it is shown and compared by.
    pub fn function(text: impl Into<String>, function: impl Quantity + 'static) -> Dropout {
        Dropout::compiled(DropoutText::Expression(text.into()), Arc::new(function))
    }

    /// A function as a file has it, compiled.
    pub fn compiled(text: DropoutText, function: Arc<dyn Quantity>) -> Dropout {
        let function = Some(function);
        Dropout { text, function }
    }

    /// As a file has it.
    pub fn text(&self) -> &DropoutText {
        &self.text
    }

    /// Whether no episode drops out.
    pub fn is_none(&self) -> bool {
        self.constant() == Some(0.0)
    }

    /// The probability, if it is the same after every step.
    pub fn constant(&self) -> Option<f64> {
        match self.text {
            DropoutText::Number(probability) => Some(probability),
            _ => None,
        }
    }

    /// The function, where it is not constant and was compiled.
    pub(crate) fn varying(&self) -> Option<&dyn Quantity> {
        self.function.as_deref()
    }
}

impl Default for Dropout {
    fn default() -> Dropout {
        Dropout::from(Probability::default())
    }
}

impl PartialEq for Dropout {
    fn eq(&self, other: &Dropout) -> bool {
        self.text == other.text
    }
}

impl From<Probability> for Dropout {
    fn from(probability: Probability) -> Dropout {
        Dropout {
            text: DropoutText::Number(probability.get()),
            function: None,
        }
    }
}

impl TryFrom<DropoutText> for Dropout {
    type Error = ParameterError;

    fn try_from(text: DropoutText) -> Result<Dropout, ParameterError> {
        match text {
            DropoutText::Number(probability) => {
                Ok(Probability::new("dropout", probability)?.into())
            }
            text => Ok(Dropout {
                text,
                function: None,
            }),
        }
    }
}

impl From<Dropout> for DropoutText {
    fn from(dropout: Dropout) -> DropoutText {
        dropout.text
    }
}

impl fmt::Debug for Dropout {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Dropout({})", self.text)
    }
}

/// As on the command line, where an array cannot be written.
impl fmt::Display for DropoutText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropoutText::Number(probability) => write!(out, "{probability}"),
            DropoutText::Expression(text) => out.write_str(text),
            DropoutText::Array(_) => out.write_str("[...]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropout_is_read_as_it_is_written() {
        for text in ["0.25", "\"if(t < 3, 0, 0.1)\"", "[[0.0,\"p\"],[[1.0]]]"] {
            let dropout: Dropout = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&dropout).unwrap(), text);
            assert_eq!(dropout.constant().is_some(), text == "0.25");
            assert!(!dropout.is_none());
        }
        assert!(Dropout::default().is_none());
        let error = serde_json::from_str::<Dropout>("1.5").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`dropout` must lie in [0, 1), got 1.5")
        );
    }
}
