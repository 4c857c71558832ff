//! Errors of problem files, with the place and a hint.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use emab::input::nearest;

use crate::spanned::TABLE;

/// An error in a problem file; displays as a message with the line it points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub file: Arc<str>,
    /// What is wrong.
    pub message: String,
    /// Label at the marked place.
    pub label: Box<str>,
    /// Whether the label says what is wrong there, and not only which place it is.
    pub explains: bool,
    /// Hint, if there is one.
    pub help: Option<Box<str>>,
    /// Marked bytes.
    pub span: Option<Range<usize>>,
    pub(crate) text: Arc<str>,
}

impl ReadError {
    /// The message with its line, with or without colour.
    pub fn render(&self, colour: bool) -> String {
        let Some(span) = &self.span else {
            let help = self.help.iter().map(|help| format!("\n  = help: {help}"));
            let help = help.collect::<String>();
            return format!("error: {}: {}{help}", self.file, self.message);
        };
        // The renderer requires a span inside the text, at character boundaries.
        let mut end = span.end.min(self.text.len());
        let mut start = span.start.min(end);
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        let snippet = Snippet::source(&*self.text)
            .path(&*self.file)
            .annotation(AnnotationKind::Primary.span(start..end).label(&*self.label));
        let mut group = Level::ERROR.primary_title(&self.message).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(&**help));
        }
        let renderer = match colour {
            true => Renderer::styled(),
            false => Renderer::plain(),
        };
        renderer.render(&[group]).to_string()
    }

    /// The message in one line, without the place.
    pub fn sentence(&self) -> String {
        let label = Some(&*self.label).filter(|_| self.explains);
        let parts = [Some(&*self.message), label, self.help.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.render(false))
    }
}

impl std::error::Error for ReadError {}

/// An error before it is attached to a file.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Marked bytes.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// Label at the marked place.
    pub label: String,
    /// Whether the label says what is wrong there, and not only which place it is.
    pub explains: bool,
    /// Hint, if there is one.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at these bytes; the label says which place it is.
    pub fn at(
        span: &Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            span: Some(span.clone()),
            message: message.into(),
            label: label.into(),
            explains: false,
            help: None,
        }
    }

    /// An error at these bytes; the label says what is wrong there.
    pub fn explained(
        span: &Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            explains: true,
            ..Diagnostic::at(span, message, label)
        }
    }

    /// An error of the whole document.
    pub fn without_span(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            span: None,
            ..Diagnostic::at(&(0..0), message, "")
        }
    }

    /// With a known name that is similar to `name` as a hint, if there is one.
    #[must_use]
    pub fn suggest<'a>(
        mut self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Diagnostic {
        self.help = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        self
    }

    /// With a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// With the words of JSON.
    pub(crate) fn in_json(self) -> Diagnostic {
        let replace = |text: String| match text.strip_suffix(TABLE) {
            Some(rest) => format!("{rest}an object"),
            None => text,
        };
        Diagnostic {
            message: replace(self.message),
            label: replace(self.label),
            ..self
        }
    }

    /// The error in the file of this name and text.
    pub fn in_file(self, file: &str, text: &Arc<str>) -> ReadError {
        ReadError {
            file: file.into(),
            message: self.message,
            label: self.label.into(),
            explains: self.explains,
            help: self.help.map(String::into),
            span: self.span,
            text: text.clone(),
        }
    }
}
