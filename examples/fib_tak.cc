// Two functions, three profiles: the example of MLton's manual (fib-tak.sml), over boxed integers
// so that there is something to allocate.  --profile=KIND[,stack] chooses the profile: alloc (the
// default), time or count.
//
// fib is charged to one unit of profiling data, tak to another, and the rest of the program to the
// default one; each is written to a file of its own.
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

// The bytes of main itself are charged to <main>, those of this function to done.
std::string done(long fib_argument, long fib_result, long tak_argument, long tak_result) {
  ALLOMON_FUNCTION();
  return "fib(" + std::to_string(fib_argument) + ") = " + std::to_string(fib_result) + ", tak(" +
         std::to_string(3 * tak_argument) + ", " + std::to_string(2 * tak_argument) + ", " +
         std::to_string(tak_argument) + ") = " + std::to_string(tak_result);
}

struct Options {
  allomon::ProfileOptions profile;
  long fib = 24;
  // tak(3 t, 2 t, t)
  long tak = 5;
};

bool HasPrefix(const char* argument, const char* prefix) {
  return strncmp(argument, prefix, strlen(prefix)) == 0;
}

// Returns a number in [0, 1], or no value for any other text.
std::optional<double> Rate(const char* text) {
  char* end = nullptr;
  const double value = strtod(text, &end);
  if (*text == '\0' || *end != '\0' || !(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

// Stricter than strtoul, which would take "-1", and "1.5" as 1.
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

// Understands "alloc", "time,stack" and so on.  False for any other text.
bool SetProfile(const std::string& text, allomon::ProfileOptions* options) {
  const size_t comma = text.find(',');
  const std::string kind = text.substr(0, comma);
  if (kind == "alloc") {
    options->kind = allomon::ProfileKind::kAlloc;
  } else if (kind == "time") {
    options->kind = allomon::ProfileKind::kTime;
  } else if (kind == "count") {
    options->kind = allomon::ProfileKind::kCount;
  } else {
    return false;
  }
  if (comma == std::string::npos) return true;
  options->style = allomon::ProfileStyle::kStack;
  return text.substr(comma) == ",stack";
}

// Returns an argument of fib or tak, which must be small, since they take exponential time.
std::optional<long> Size(const char* text, unsigned long most) {
  const std::optional<unsigned long> value = Seed(text);
  if (!value.has_value() || *value > most) return std::nullopt;
  return static_cast<long>(*value);
}

void ParseOption(const std::string& argument, Options* options) {
  const char* const value = argument.c_str() + argument.find('=') + 1;
  if (HasPrefix(argument.c_str(), "--rate=")) {
    const std::optional<double> rate = Rate(value);
    if (!rate.has_value()) Fail(argument + ": expected a number in [0, 1], such as --rate=1e-4");
    options->profile.rate = *rate;
  } else if (HasPrefix(argument.c_str(), "--seed=")) {
    options->profile.seed = Seed(value);
    if (!options->profile.seed.has_value())
      Fail(argument + ": expected a number below 2^64, such as --seed=42");
  } else if (HasPrefix(argument.c_str(), "--profile=")) {
    if (!SetProfile(value, &options->profile))
      Fail(argument + ": expected alloc, time or count, and perhaps ,stack behind it");
  } else if (HasPrefix(argument.c_str(), "--fib=")) {
    const std::optional<long> size = Size(value, 60);
    if (!size.has_value()) Fail(argument + ": expected a number up to 60, such as --fib=32");
    options->fib = *size;
  } else if (HasPrefix(argument.c_str(), "--tak=")) {
    const std::optional<long> size = Size(value, 20);
    if (!size.has_value()) Fail(argument + ": expected a number up to 20, such as --tak=6");
    options->tak = *size;
  } else {
    Fail("unknown option " + argument +
         "; known are --profile=KIND[,stack], --rate=R (in [0, 1]), --seed=N, --fib=N, --tak=N");
  }
}

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(std::string(status.message()));
}

allomon::ProfileData NewUnit() {
  const absl::StatusOr<allomon::ProfileData> data = allomon::Profile::Malloc();
  Check(data.status());
  return *data;
}

// Writes one unit of data and prints the command that shows it.
void Write(const char* program, const char* file, allomon::ProfileData data) {
  const std::string path = examples::InOutputDirectory(file);
  Check(allomon::Profile::Write(path, data));
  printf("%s: %s\n  bazel run //tools:mlprof -- -raw true %s %s\n", file,
         allomon::Profile::Summary(data).c_str(), program, path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) ParseOption(argv[i], &options);
  const allomon::ProfileData fib_data = NewUnit();
  const allomon::ProfileData tak_data = NewUnit();
  Check(allomon::Profile::Start(options.profile));

  const long n = options.fib;
  const long t = options.tak;
  long fib_result = 0;
  long tak_result = 0;
  Check(allomon::Profile::WithData(fib_data, [&] { fib_result = *fib(Box(n)); }));
  Check(allomon::Profile::WithData(tak_data,
                                   [&] { tak_result = *tak(Box(3 * t), Box(2 * t), Box(t)); }));
  const std::string results = done(n, fib_result, t, tak_result);
  Check(allomon::Profile::Stop());

  printf("%s\n", results.c_str());
  std::unique_ptr<char, decltype(&free)> program(realpath("/proc/self/exe", nullptr), free);
  const char* name = program != nullptr ? program.get() : argv[0];
  Write(name, "mlmon.fib.out", fib_data);
  Write(name, "mlmon.tak.out", tak_data);
  Write(name, "mlmon.out", {});
}
