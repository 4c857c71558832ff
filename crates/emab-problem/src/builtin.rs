//! The problems that come with the program, by name.

/// A problem that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file, as it stands in `problems/`.
    pub text: &'static str,
}

macro_rules! builtin {
    ($($name:literal),*) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../../problems/", $name, ".toml")),
        }),*]
    };
}

/// All of them.
pub static BUILTIN: &[Builtin] = builtin![
    "resource",
    "parity",
    "coverage",
    "screening",
    "treatment",
    "tutoring",
    "feedback-gap"
];
