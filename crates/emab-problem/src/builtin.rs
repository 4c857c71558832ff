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

/// The built-in problems that tables and comparisons run over by default.
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

/// Published problems, which are built in too: other articles' settings. Only a call that names one runs it.
pub static PUBLISHED: &[Builtin] = builtin!["app-recommendation", "gamblers-ruin", "costly-tests"];

impl Builtin {
    /// All built-in problems, the published ones included.
    ///
    /// ```
    /// use emab_problem::{BUILTIN, Builtin, PUBLISHED};
    /// assert_eq!(Builtin::all().count(), BUILTIN.len() + PUBLISHED.len());
    /// ```
    pub fn all() -> impl Iterator<Item = &'static Builtin> {
        BUILTIN.iter().chain(PUBLISHED)
    }
}
