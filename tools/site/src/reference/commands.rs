//! Every command with its help.

use clap::Command;

pub fn page() -> (&'static str, &'static str, String) {
    let mut out = String::new();
    let mut command = emab_cli::command().max_term_width(100).term_width(100);
    command.build();
    list(&mut out, &mut command, "emab");
    (
        "Commands",
        "Every command of `emab`, as `emab COMMAND --help` prints it. Exit codes: 0 done, 1 the work failed, 2 the input or the call is \
         invalid. With `--json` a command prints one JSON document.",
        out,
    )
}

/// The help of a command and of the commands below it.
fn list(out: &mut String, command: &mut Command, name: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = help.join("\n");
    let marks = match name.matches(' ').count() {
        0 | 1 => "##",
        _ => "###",
    };
    *out += &format!("{marks} `{name}`\n\n```text\n{}\n```\n\n", help.trim_end());
    for sub in command.get_subcommands_mut() {
        if sub.get_name() != "help" {
            let name = format!("{name} {}", sub.get_name());
            list(out, sub, &name);
        }
    }
}
