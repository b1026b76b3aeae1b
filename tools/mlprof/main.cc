// mlprof: shows what mlmon.out files say about an executable.  See README.md.

#include <cstdio>
#include <string>
#include <vector>

#include "tools/mlprof/mlprof.h"

namespace {

// Fails if a table did not reach the disk, which must not look like success.
bool Print(const std::string& text) {
  return fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const allomon::mlprof::Result result =
      allomon::mlprof::RunMlprof(std::vector<std::string>(argv + (argc > 0), argv + argc));
  fputs(result.err.c_str(), stderr);
  if (!result.success) return 1;
  if (Print(result.out)) return 0;
  perror("mlprof: cannot write standard output");
  return 1;
}
