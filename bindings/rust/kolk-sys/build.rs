//! Tells cargo where libkolk is: in KOLK_LIB_DIR if that is set, or else where pkg-config finds it.
//! With KOLK_STATIC=1, links libkolk.a.

use std::env;
use std::mem;
use std::process::Command;

fn main() {
    for name in ["KOLK_LIB_DIR", "KOLK_STATIC", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    let is_static = env::var("KOLK_STATIC").map_or(false, |value| value != "0");
    match env::var("KOLK_LIB_DIR") {
        Ok(folder) => {
            println!("cargo:rustc-link-search=native={}", folder);
            link("kolk", is_static);
        }
        Err(_) => ask_pkg_config(is_static),
    }
}

fn link(name: &str, is_static: bool) {
    println!("cargo:rustc-link-lib={}={}", if is_static && name == "kolk" { "static" } else { "dylib" }, name);
}

/// The words of a text as a shell sees them: pkg-config writes a space within a path as `\ `.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match (letter, quote) {
            ('\\', None) => word.extend(rest.next()),
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(end)) if letter == end => quote = None,
            (_, None) if letter.is_whitespace() => words.push(mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    words
}

fn ask_pkg_config(is_static: bool) {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let mut command = Command::new(&program);
    command.args(["--libs", "kolk"]).args(is_static.then(|| "--static")).env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1");
    let said = match command.output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => panic!("install kolk, or set KOLK_LIB_DIR: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("set KOLK_LIB_DIR to the folder of libkolk, as {} does not run: {}", program, error),
    };
    for word in words(&said) {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        } else if let Some(name) = word.strip_prefix("-l") {
            link(name, is_static);
        }
    }
}
