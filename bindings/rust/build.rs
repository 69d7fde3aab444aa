//! Where the generated files and the library are: OPDYNO_RUST_GENERATED and OPDYNO_LIB_DIR.
use std::env;

fn main() {
    for name in ["OPDYNO_RUST_GENERATED", "OPDYNO_LIB_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let directory = |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set: see README.md"));
    println!("cargo:rustc-env=OPDYNO_RUST_GENERATED={}", directory("OPDYNO_RUST_GENERATED"));
    println!("cargo:rerun-if-changed={}", directory("OPDYNO_RUST_GENERATED"));
    println!("cargo:rustc-link-search=native={}", directory("OPDYNO_LIB_DIR"));
    println!("cargo:rustc-link-search=native={}", directory("OPDYNO_RUST_GENERATED"));
    println!("cargo:rustc-link-lib=static=opdyno_inline");
    println!("cargo:rustc-link-lib=dylib=opdyno");
}
