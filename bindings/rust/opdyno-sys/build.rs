//! Finds the library. First what OPDYNO_LIB_DIR names, a directory with libopdyno.a or libopdyno.so; then what pkg-config
//! knows. A static library is preferred, since a program that is linked with it needs nothing at run time:
//! OPDYNO_LINK=dynamic asks for the shared one, OPDYNO_LINK=static for no other.
use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}

fn main() {
    for name in ["OPDYNO_LIB_DIR", "OPDYNO_LINK"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library
    }
    let link = env::var("OPDYNO_LINK").unwrap_or_default();
    if !["", "static", "dynamic"].contains(&link.as_str()) {
        fail(&format!("OPDYNO_LINK is {link:?}, but must be static or dynamic"));
    }
    for directory in directories() {
        let has = |name: &str| directory.join(name).exists();
        if link != "dynamic" && has("libopdyno.a") {
            return link_static(&directory);
        }
        if link != "static" && has("libopdyno.so") {
            return link_dynamic(&directory);
        }
    }
    fail(&format!(
        "opdyno's {}library was not found: install it (its README says how), so that `pkg-config --libs opdyno` finds it, or \
         name its directory in OPDYNO_LIB_DIR",
        if link.is_empty() { String::new() } else { format!("{link} ") }
    ));
}

/// Where it may be.
fn directories() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("OPDYNO_LIB_DIR") {
        return vec![named.into()];
    }
    match pkg_config::Config::new().cargo_metadata(false).atleast_version("0.2.0").probe("opdyno") {
        Ok(found) => {
            // Where the system's own libraries are, pkg-config names no directory.
            let mut directories = found.link_paths;
            directories.extend(pkg_config::get_variable("opdyno", "libdir").ok().map(PathBuf::from));
            directories
        }
        Err(_) => Vec::new(),
    }
}

/// The archive holds everything but the C++ library and the system's own.
fn link_static(directory: &Path) {
    println!("cargo::rustc-link-search=native={}", directory.display());
    println!("cargo::rustc-link-lib=static:+whole-archive=opdyno");
    println!("cargo::rerun-if-changed={}", directory.join("libopdyno.a").display());
    let needed = std::fs::read_to_string(directory.join("libopdyno.a.needs"));
    for library in needed.as_deref().unwrap_or("stdc++ ffi cjson z").split_whitespace() {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}

/// A program finds a shared library outside of the system's directories by its rpath, which only its own build script can set:
/// dependents get it as DEP_OPDYNO_RPATH.
fn link_dynamic(directory: &Path) {
    println!("cargo::rustc-link-search=native={}", directory.display());
    println!("cargo::rustc-link-lib=dylib=opdyno");
    println!("cargo::metadata=rpath={}", directory.display());
    println!("cargo::rerun-if-changed={}", directory.join("libopdyno.so").display());
}
