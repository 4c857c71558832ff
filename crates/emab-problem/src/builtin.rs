//! Built-in problems.

/// A built-in problem.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Name on the command line.
    pub name: &'static str,
    /// Text of its file in `problems/`.
    pub text: &'static str,
}

macro_rules! builtin {
    ($($name:literal),*) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../problems/", $name, ".toml")),
        }),*]
    };
}

/// All built-in problems.
pub static BUILTIN: &[Builtin] = builtin![
    "resource",
    "parity",
    "coverage",
    "screening",
    "treatment",
    "tutoring",
    "feedback-gap",
    "screening-risk"
];
