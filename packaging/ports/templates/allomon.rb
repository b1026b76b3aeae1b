# A formula of Homebrew on Linux for Allomon.  fill.py has made this file from a template.
class Allomon < Formula
  desc "Heap profiler for C++ programs, preloaded or linked"
  homepage "@URL@"
  url "@URL@/@ALLOMON_FILE@"
  version "@VERSION@"
  sha256 "@ALLOMON_SHA256@"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "pkgconf" => :build
  depends_on "abseil"
  # Its static libiberty is what names of C++ are read by.
  depends_on "binutils"
  depends_on "elfutils"
  depends_on :linux
  depends_on "nlohmann-json"
  depends_on "zlib"
  depends_on "zstd"

  resource "mimalloc" do
    url "@URL@/@MIMALLOC_FILE@"
    sha256 "@MIMALLOC_SHA256@"
  end

  resource "cpp-httplib" do
    url "@URL@/@HTTPLIB_FILE@"
    sha256 "@HTTPLIB_SHA256@"
  end

  def install
    odie "allomon: packages are for x86-64 alone" unless Hardware::CPU.intel?
    %w[mimalloc cpp-httplib].each { |name| resource(name).stage buildpath/"other"/name }
    args = %W[
      -DALLOMON_MIMALLOC_SOURCE=#{buildpath}/other/mimalloc
      -DALLOMON_HTTPLIB_SOURCE=#{buildpath}/other/cpp-httplib
    ]
    system "cmake", "-S", ".", "-B", "build", *args, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "allomon #{version}", shell_output("#{bin}/allomon --version")
    system bin/"allomon", "run", "-o", testpath/"true.pb.gz", "--", "true"
    assert_path_exists testpath/"true.pb.gz"
  end
end
