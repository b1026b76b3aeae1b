# An expression of Nix for Allomon, for `nix-build` or callPackage.  fill.py has made this file from
# a template.
{ pkgs ? import <nixpkgs> { } }:
let
  unpacked = name: sha256: pkgs.runCommand "unpacked" { } ''
    mkdir $out
    tar -C $out --strip-components=1 -xzf ${
      pkgs.fetchurl { url = "@URL@/${name}"; inherit sha256; }
    }
  '';
in
pkgs.stdenv.mkDerivation {
  pname = "allomon";
  version = "@VERSION@";
  src = unpacked "@ALLOMON_FILE@" "@ALLOMON_SHA256@";

  nativeBuildInputs = with pkgs; [ cmake gzip pkg-config python3 ];
  buildInputs = with pkgs; [ elfutils libiberty nlohmann_json zlib zstd ];
  # Headers of ours include Abseil's.
  propagatedBuildInputs = [ pkgs.abseil-cpp ];
  cmakeFlags = [
    "-DALLOMON_MIMALLOC_SOURCE=${unpacked "@MIMALLOC_FILE@" "@MIMALLOC_SHA256@"}"
    "-DALLOMON_HTTPLIB_SOURCE=${unpacked "@HTTPLIB_FILE@" "@HTTPLIB_SHA256@"}"
  ];

  doInstallCheck = true;
  installCheckPhase = "$out/bin/allomon --version | grep -F 'allomon @VERSION@'";

  meta = {
    description = "Heap profiler for C++ programs, preloaded or linked";
    license = with pkgs.lib.licenses; [ asl20 mit ];
    platforms = [ "x86_64-linux" ];
    mainProgram = "allomon";
  };
}
