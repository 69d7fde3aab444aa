//! Finds the library, in this order:
//!
//! 1. With the feature `bundled`, CMake builds it from the sources in this crate, which takes minutes.
//! 2. OPDYNO_LIB_DIR names the directory of libopdyno.a or libopdyno.so.
//! 3. pkg-config finds an installed library.
//! 4. A published crate contains a static library for some targets.
//!
//! A static library is preferred, because a program that is linked with it needs nothing else at run time. OPDYNO_LINK=dynamic
//! selects the shared library, and OPDYNO_LINK=static excludes it.
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

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
    if env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        return link_static(&build_bundled());
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
        "opdyno's {}library was not found: install it (its README says how), so that `pkg-config --libs opdyno` finds it, name \
         its directory in OPDYNO_LIB_DIR, or use the feature `bundled`, which builds it",
        if link.is_empty() { String::new() } else { format!("{link} ") }
    ));
}

/// The directories that may contain the library.
fn directories() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("OPDYNO_LIB_DIR") {
        return vec![named.into()];
    }
    let mut directories = installed();
    let brought = crate_directory().join("natives").join(variable("TARGET"));
    println!("cargo::rerun-if-changed={}", brought.display());
    directories.push(brought);
    directories
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("{name} is not set: Cargo sets it")))
}
fn crate_directory() -> PathBuf {
    variable("CARGO_MANIFEST_DIR").into()
}

fn installed() -> Vec<PathBuf> {
    match pkg_config::Config::new().cargo_metadata(false).atleast_version(env!("CARGO_PKG_VERSION")).probe("opdyno") {
        Ok(found) => {
            // If the library is in a system directory, pkg-config names no directory.
            let mut directories = found.link_paths;
            directories.extend(pkg_config::get_variable("opdyno", "libdir").ok().map(PathBuf::from));
            directories
        }
        Err(_) => Vec::new(),
    }
}

/// Links the archive, and the libraries that it does not contain: the C++ library and those of the system.
fn link_static(directory: &Path) {
    println!("cargo::rustc-link-search=native={}", directory.display());
    println!("cargo::rustc-link-lib=static:+whole-archive=opdyno");
    println!("cargo::rerun-if-changed={}", directory.join("libopdyno.a").display());
    let needed = std::fs::read_to_string(directory.join("libopdyno.a.needs"));
    for library in needed.as_deref().unwrap_or("stdc++ m ffi cjson z").split_whitespace() {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}

/// Links the shared library. Outside of the system's directories a program finds it by its rpath, which only the
/// program's own build script can set. So dependents get the directory as DEP_OPDYNO_RPATH.
fn link_dynamic(directory: &Path) {
    println!("cargo::rustc-link-search=native={}", directory.display());
    println!("cargo::rustc-link-lib=dylib=opdyno");
    println!("cargo::metadata=rpath={}", directory.display());
    println!("cargo::rerun-if-changed={}", directory.join("libopdyno.so").display());
}

/// Builds the static library: in a published crate from the crate's sources, in the repository from the repository.
fn build_bundled() -> PathBuf {
    let staged = crate_directory().join("source");
    let source = if staged.exists() { staged } else { crate_directory().join("../../..") };
    let out = PathBuf::from(variable("OUT_DIR")).join("build");
    println!("cargo::rerun-if-changed={}", source.join("src").display());
    let run = |command: &mut Command| match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!(
            "{command:?}: {status}. It needs g++, ninja, libffi, cJSON and zlib with their headers, and the headers of OpenSSL 3, Vulkan and OpenCL"
        )),
        Err(error) => fail(&format!("{command:?}: {error}. The feature `bundled` needs CMake 3.22 or newer")),
    };
    let options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DOPDYNO_BUILD_TESTS=OFF"];
    run(Command::new("cmake").arg("-S").arg(source).arg("-B").arg(&out).args(options));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    run(Command::new("cmake").arg("--build").arg(&out).args(["--target", "opdyno_static", "--parallel", &jobs]));
    out.join("lib")
}
