//! Where the generated files and the library are: OPDYNO_RUST_GENERATED and OPDYNO_LIB_DIR.
use std::env;

fn main() {
    for name in ["OPDYNO_RUST_GENERATED", "OPDYNO_LIB_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let folder = |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set: see README.md"));
    println!("cargo:rustc-env=OPDYNO_RUST_GENERATED={}", folder("OPDYNO_RUST_GENERATED"));
    println!("cargo:rerun-if-changed={}", folder("OPDYNO_RUST_GENERATED"));
    println!("cargo:rustc-link-search=native={}", folder("OPDYNO_LIB_DIR"));
    println!("cargo:rustc-link-lib=dylib=opdyno");
}
