//! Passes on the directory of a shared library: to this crate's own tests and examples as their rpath, and to dependents as
//! DEP_OPDYNO_RUST_RPATH, in case they link it without installing it.
use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(directory) = env::var("DEP_OPDYNO_RPATH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{directory}");
        println!("cargo::metadata=rpath={directory}");
    }
}
