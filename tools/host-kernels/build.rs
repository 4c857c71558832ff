//! Compiles the kernels.

fn main() {
    let kernels = "../../crates/emab-sim/src/engine/gpu/kernel";
    println!("cargo::rerun-if-changed={kernels}");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        // Rounds every operation as the processor's loop does.
        .flag_if_supported("-ffp-contract=off")
        // Threads of a warp jump between stacks, which the check of longjmp takes for an error.
        .flag("-U_FORTIFY_SOURCE")
        .file(format!("{kernels}/host.cpp"))
        .compile("emab_host_kernels");
}
