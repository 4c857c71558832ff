//! Rejections: why a command or an event is not accepted. [`crate::http`] maps each kind to a status and a problem type.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionKind {
    /// Not JSON, or not of the expected form.
    Malformed,
    /// No such study, episode or decision.
    NotFound,
    /// Contradicts what is recorded.
    Conflict,
    /// Names another step than the current one.
    WrongStep,
    /// Well-formed, but not possible in this study.
    NotPossible,
    /// A stored value violates an invariant of the service.
    Internal,
}

/// A rejected command or event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{detail}", line.map_or(String::new(), |line| format!("line {line}: ")))]
pub struct Rejection {
    /// The kind.
    pub kind: RejectionKind,
    /// What was found, what was expected, and what to do.
    pub detail: String,
    /// The JSON pointer (RFC 6901) of the value at fault, where the input is a JSON document.
    pub pointer: Option<String>,
    /// The current step of the episode, where the rejection depends on it.
    pub current_step: Option<usize>,
    /// The imported line, from 1, if it is of one.
    pub line: Option<u64>,
}

macro_rules! constructors {
    ($($name:ident $kind:ident,)*) => {
        impl Rejection {
            $(#[doc = concat!("A rejection of kind [`RejectionKind::", stringify!($kind), "`].")]
            pub fn $name(detail: impl Into<String>) -> Rejection {
                Rejection {
                    kind: RejectionKind::$kind,
                    detail: detail.into(),
                    pointer: None,
                    current_step: None,
                    line: None,
                }
            })*
        }
    };
}

constructors! {
    malformed Malformed,
    not_found NotFound,
    conflict Conflict,
    wrong_step WrongStep,
    not_possible NotPossible,
    internal Internal,
}

impl Rejection {
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Rejection {
        self.pointer = Some(pointer.into());
        self
    }

    #[must_use]
    pub fn current(mut self, step: usize) -> Rejection {
        self.current_step = Some(step);
        self
    }

    /// The rejection of an imported line.
    #[must_use]
    pub fn in_line(mut self, number: u64) -> Rejection {
        self.line = Some(number);
        self
    }

    /// With the line as an entry of a list in a JSON document, at a JSON pointer.
    #[must_use]
    pub fn in_list(mut self, list: &str) -> Rejection {
        if let Some(line) = self.line.take() {
            let entry = format!("{list}/{}", line - 1);
            if let Some(rest) = self.detail.strip_prefix("`/") {
                self.detail = format!("`{entry}/{rest}");
            }
            let inside = self.pointer.unwrap_or_default();
            self.pointer = Some(format!("{entry}{inside}"));
        }
        self
    }
}
