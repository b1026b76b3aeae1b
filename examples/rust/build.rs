// Links liballomon.a.  LIBALLOMON_DIR is the folder that it is installed in.
fn main() {
    println!("cargo:rerun-if-env-changed=LIBALLOMON_DIR");
    let folder = std::env::var("LIBALLOMON_DIR").unwrap_or_else(|_| "/usr/lib".to_string());
    println!("cargo:rustc-link-search=native={folder}");
    // Whole: the standard library, which calls malloc, may come later on the linker's command line.
    println!("cargo:rustc-link-lib=static:+whole-archive=allomon");
    // libstdc++ as the C library: static with `-C target-feature=+crt-static`.  Behind the C library
    // on the command line, it needs that once more.
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if features.split(',').any(|feature| feature == "crt-static") {
        let last = "-Wl,-Bstatic,--start-group,-lstdc++,-lm,-lc,-lgcc_eh,-lgcc,--end-group";
        println!("cargo:rustc-link-arg={last}");
    } else {
        println!("cargo:rustc-link-lib=stdc++");
    }
    // By this name the library that `allomon run` preloads knows that the program has its own.
    println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol=allomon_ready");
}
