// The program: scheme [--profile | --record=RECORDING] FILE [ARGUMENT ...].
//
// --profile prints the memory that the program has allocated, by its functions and by types: bytes,
// and the parts of them that died young, that died old, and that were there at the end.
#include "examples/scheme/scheme.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

#include "tracker/callstack/managed_functions.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

namespace {

// Opens its mouth once: a bad program ends with one line.
int Say(const std::string& line) {
  fprintf(stderr, "scheme: %s\n", line.c_str());
  return 1;
}

// A row of the profile: estimated bytes.
struct Row {
  double allocated = 0;
  double died_young = 0;
  double died_old = 0;
};
struct Rows {
  std::mutex mutex;  // the heap's own thread never calls back, but the compiler cannot know
  std::map<std::pair<uintptr_t, std::string>, Row> rows;
};

// Follows sampled objects from birth to death.
struct Followed {
  Row* row;
  double bytes;
};
class Profiler {
 public:
  explicit Profiler(Rows* rows) : rows_(rows) {}
  std::optional<Followed> alloc_minor(const allomon::Allocation& allocation) {
    return Born(allocation);
  }
  std::optional<Followed> alloc_major(const allomon::Allocation& allocation) {
    return Born(allocation);
  }
  std::optional<Followed> promote(Followed object) { return object; }
  void dealloc_minor(Followed object) { Add(object.row->died_young, object.bytes); }
  void dealloc_major(Followed object) { Add(object.row->died_old, object.bytes); }

 private:
  void Add(double& sum, double bytes) {
    const std::lock_guard<std::mutex> hold(rows_->mutex);
    sum += bytes;
  }
  std::optional<Followed> Born(const allomon::Allocation& allocation) {
    if (allocation.type_name == nullptr) return std::nullopt;
    allomon::ManagedFunctionName name = {};
    uintptr_t innermost = 0;
    for (const uintptr_t frame : allocation.callstack) {
      if (!FindManagedFunction(frame, &name)) continue;
      innermost = name.function;
      break;
    }
    allomon::HeapEstimate estimate;
    estimate.Add(allocation);
    const std::lock_guard<std::mutex> hold(rows_->mutex);
    Row& row = rows_->rows[{innermost, allocation.type_name}];
    row.allocated += estimate.bytes.value;
    return Followed{&row, estimate.bytes.value};
  }

  Rows* const rows_;
};

void Print(const Rows& all) {
  std::vector<std::pair<std::pair<uintptr_t, std::string>, Row>> rows(all.rows.begin(),
                                                                      all.rows.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.allocated > b.second.allocated; });
  fputs("allocated KB  died young  died old  lives  type              function\n", stderr);
  static constexpr size_t kMostRows = 16;
  for (size_t i = 0; i < std::min(kMostRows, rows.size()); ++i) {
    const std::pair<uintptr_t, std::string>& key = rows[i].first;
    const Row& row = rows[i].second;
    const auto share = [&](double part) { return 100 * part / row.allocated; };
    allomon::ManagedFunctionName name = {};
    std::string where = "(the interpreter)";
    if (FindManagedFunction(key.first, &name)) {
      where = std::string(name.name) + " (" + std::string(name.file) + ")";
    }
    fprintf(stderr, "%12.0f %10.1f%% %8.1f%% %5.1f%%  %-16s  %s\n", row.allocated / 1024,
            share(row.died_young), share(row.died_old),
            share(row.allocated - row.died_young - row.died_old), key.second.c_str(),
            where.c_str());
  }
}

int RunProgram(const std::string& path, std::string text, std::vector<std::string> command_line) {
  auto heap = allomon::gc::Heap::Create();
  if (!heap.ok()) return Say(std::string(heap.status().message()));
  const allomon::gc::Mutator mutator(**heap);
  scheme::Machine machine(std::move(command_line));
  scheme::RegisterWalker(&machine);
  int status = 0;
  try {
    machine.Load(path, std::move(text));
    machine.Flush();
  } catch (const scheme::Exit& exit) {
    status = exit.status;
  } catch (const scheme::Fatal& error) {
    machine.Flush();
    status = Say(error.what());
  } catch (const std::bad_alloc&) {
    machine.Flush();
    status = Say(path + ": out of memory");
  }
  // The end of the heap is no death of its objects.
  allomon::Tracker::stop().IgnoreError();
  scheme::RegisterWalker(nullptr);
  return status;
}

constexpr double kRate = 1e-3;  // of words

absl::Status Record(const std::string& path) {
  allomon::RecordingOptions options;
  options.path = path;
  options.rate = kRate;
  return allomon::Recording::Start(options).status();
}

}  // namespace

int main(int argc, char** argv) {
  Rows rows;
  bool profiles = false;
  static constexpr std::string_view kRecord = "--record=";
  if (const std::string_view option = argc > 1 ? argv[1] : ""; option.substr(0, 2) == "--") {
    absl::Status status = absl::InvalidArgumentError("no such option: " + std::string(option));
    if (option == "--profile") {
      status = allomon::Tracker::start(kRate, Profiler(&rows)).status();
      profiles = true;
    } else if (option.substr(0, kRecord.size()) == kRecord) {
      status = Record(argv[1] + kRecord.size());
    }
    if (!status.ok()) return Say(std::string(status.message()));
    ++argv;
    --argc;
  }
  if (argc < 2) {
    fputs("usage: scheme [--profile | --record=RECORDING] FILE [ARGUMENT ...]\n", stderr);
    return 2;
  }
  const std::string path = argv[1];
  std::ifstream file(path);
  if (!file) return Say(path + ": " + strerror(errno));
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {
    text.clear();  // a directory
  }
  if (text.empty()) return Say(path + ": cannot be read, or has nothing in it");
  const int status =
      RunProgram(path, std::move(text), std::vector<std::string>(argv + 1, argv + argc));
  if (profiles) Print(rows);
  return status;
}
