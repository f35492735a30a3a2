# Formula of poprt for Homebrew on Linux: libraries, headers and commands, from the source archive of a release.
class Poprt < Formula
  desc "Ahead-of-time inference of ONNX models on emulated IPUs"
  homepage "https://poprt.example.org"
  url "https://poprt.example.org/releases/poprt-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "spdlog" => :build
  depends_on "fmt"
  depends_on "libyaml"
  depends_on "libzip"
  depends_on :linux
  depends_on "onnx"
  depends_on "protobuf"
  depends_on "re2"
  depends_on "utf8proc"
  depends_on "zstd"

  def install
    args = %w[-DPOPRT_TESTS=OFF -DPOPRT_BENCH=OFF -DPOPRT_BINDINGS=OFF -DPOPRT_INSTALL_LIBDIR=lib]
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *args, *std_cmake_args
    system "cmake", "--build", "build"
    %w[library compiler dev tools].each { |part| system "cmake", "--install", "build", "--component", part }
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/poprt --version")
  end
end
