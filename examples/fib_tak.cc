// Two functions, three profiles: the example of MLton's manual (fib-tak.sml), over boxed
// integers so that there is something to allocate.
//
// fib is charged to one unit of profiling data, tak to another, and the rest of the
// program to the default one; each is written to a file of its own.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "examples/output_directory.h"
#include "tracker/profile/profile.h"

namespace {

using Boxed = std::unique_ptr<const long>;

Boxed Box(long value) { return std::make_unique<const long>(value); }

Boxed fib(const Boxed& n) {
  ALLOMON_FUNCTION();
  if (*n < 2) return Box(*n);
  const Boxed a = fib(Box(*n - 1));
  const Boxed b = fib(Box(*n - 2));
  return Box(*a + *b);
}

Boxed tak(const Boxed& x, const Boxed& y, const Boxed& z) {
  ALLOMON_FUNCTION();
  if (*y >= *x) return Box(*z);
  return tak(tak(Box(*x - 1), y, z), tak(Box(*y - 1), z, x), tak(Box(*z - 1), x, y));
}

// What main itself allocates goes to <main> in the default unit; this to done.
std::string done(long fib_result, long tak_result) {
  ALLOMON_FUNCTION();
  return "fib(24) = " + std::to_string(fib_result) +
         ", tak(15, 10, 5) = " + std::to_string(tak_result);
}

struct Options {
  double rate = 1;
  std::optional<unsigned long> seed;
};

bool HasPrefix(const char* argument, const char* prefix) {
  return strncmp(argument, prefix, strlen(prefix)) == 0;
}

// A number in [0, 1]; nullopt for anything else.
std::optional<double> Rate(const char* text) {
  char* end = nullptr;
  const double value = strtod(text, &end);
  if (*text == '\0' || *end != '\0' || !(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

// strtoul alone would take "-1" and the 1 of "1.5".
std::optional<unsigned long> Seed(const char* text) {
  errno = 0;
  const unsigned long value = strtoul(text, nullptr, 10);
  if (*text == '\0' || text[strspn(text, "0123456789")] != '\0' || errno != 0) return std::nullopt;
  return value;
}

[[noreturn]] void Fail(const std::string& message) {
  fprintf(stderr, "fib_tak: %s\n", message.c_str());
  exit(1);
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (HasPrefix(argv[i], "--rate=")) {
      const std::optional<double> rate = Rate(argv[i] + 7);
      if (!rate.has_value()) Fail(argument + ": expected a number in [0, 1], such as --rate=1e-4");
      options.rate = *rate;
    } else if (HasPrefix(argv[i], "--seed=")) {
      options.seed = Seed(argv[i] + 7);
      if (!options.seed.has_value())
        Fail(argument + ": expected a number below 2^64, such as --seed=42");
    } else {
      Fail("unknown option " + argument + "; known are --rate=R (in [0, 1]) and --seed=N");
    }
  }
  return options;
}

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(std::string(status.message()));
}

// Writes one unit and says how to look at it.
void Write(const char* program, const char* file, const allomon::ProfileData& data) {
  const std::string path = examples::InOutputDirectory(file);
  Check(allomon::Profile::Write(path, data));
  printf("%s: %s\n  bazel run //tools:mlprof -- -raw true %s %s\n", file,
         allomon::Profile::Summary(data).c_str(), program, path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  allomon::ProfileData fib_data;
  allomon::ProfileData tak_data;
  allomon::ProfileOptions profile_options;
  profile_options.rate = options.rate;
  profile_options.seed = options.seed;
  Check(allomon::Profile::Start(profile_options));

  long fib_result = 0;
  long tak_result = 0;
  {
    const allomon::ScopedProfileData unit(&fib_data);
    fib_result = *fib(Box(24));
  }
  {
    const allomon::ScopedProfileData unit(&tak_data);
    tak_result = *tak(Box(15), Box(10), Box(5));
  }
  const std::string results = done(fib_result, tak_result);
  Check(allomon::Profile::Stop());

  printf("%s\n", results.c_str());
  std::unique_ptr<char, decltype(&free)> program(realpath("/proc/self/exe", nullptr), free);
  const char* name = program != nullptr ? program.get() : argv[0];
  Write(name, "mlmon.fib.out", fib_data);
  Write(name, "mlmon.tak.out", tak_data);
  Write(name, "mlmon.out", allomon::DefaultProfileData());
}
