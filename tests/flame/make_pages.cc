// make_pages FOLDER: writes the pages that the browser's test and its reader look at.
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/flame/support/profiles.h"
#include "tools/flame/flame.h"
#include "tools/flame/page.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"
#include "tracker/formats/write_file.h"

namespace allomon::flame {
namespace {

heap::HeapProfile Hostile() {
  ProfileMaker maker(0);
  const std::string names[] = {"</script><script>document.title='owned'</script>",
                               "<img src=x onerror=\"document.title='owned'\">",
                               "\xff\xfe\x1b[31m{{script}}", "__proto__", "\u202e'\"`${1}&amp;"};
  for (const std::string& name : names) {
    maker.Add({{"main", "a.cc", 1}, {name, "<b>.cc", 7, "</title>.so"}}, 100,
              {{{1, 100}, {1, 100}, {1, 100}}});
  }
  heap::HeapProfile profile = std::move(maker.profile());
  profile.notes = {"<script>document.title='owned'</script>"};
  profile.command = "</script><!--<script>";
  return profile;
}

heap::HeapProfile Small() {
  ProfileMaker maker(1);
  const MadeFrame main = {"main", "a.cc", 3};
  maker.Add({main, {"app::Alpha(int)", "a.cc", 10}, {"~app::Inner()", "a.h", 5}}, 1000,
            {{{3, 3000}, {1, 1000}, {2, 2000}}});
  maker.Add({main, {"app::Beta()", "b.cc", 20}}, 500, {{{4, 2000}, {4, 2000}, {2, 1000}}});
  maker.Add({main, {"app::Beta()", "b.cc", 21}, {"app::Alpha(int)", "a.cc", 11}}, 5000,
            {{{1, 5000}, {0, 0}, {1, 5000}}});
  return std::move(maker.profile());
}

// Frames of the C++ library and of allocators, between functions of the program, and as the
// outermost ones.
heap::HeapProfile Library() {
  ProfileMaker maker(1);
  const MadeFrame main = {"main", "a.cc", 3};
  const MadeFrame visit = {"app::Visit()", "a.cc", 10};
  const MadeFrame allocator = {"operator new(unsigned long)", "", 0};
  const auto add = [&maker](const std::vector<MadeFrame>& stack, double bytes) {
    maker.Add(stack, static_cast<uint64_t>(bytes), {{{1, bytes}, {1, bytes}, {1, bytes}}});
  };
  add({main, {"std::vector<int>::push_back(int const&)", "vector", 1}, allocator}, 1024);
  add({main,
       {"app::Index(std::string const&)", "a.cc", 20},
       {"std::map<int, int>::operator[](int const&)", "map", 1},
       allocator},
      2048);
  add({main, visit, allocator}, 1024);
  add({main, {"void std::for_each<int*, F>(int*, int*, F)", "algorithm", 1}, visit, allocator},
      3072);
  add({{"std::thread::run()", "thread", 1},
       {"std::vector<int> app::Make<int>()", "a.cc", 30},
       allocator},
      8192);
  return std::move(maker.profile());
}

// The same, with a birth for the live blocks of each stack.  The second and the third are of one
// class of ages.
heap::HeapProfile Births() {
  heap::HeapProfile profile = Library();
  profile.duration_seconds = 100;
  const double births[] = {90, 20, 25, 90, 60};
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    heap::Sample& sample = profile.samples[i];
    const auto nanos = static_cast<uint64_t>((100 - births[i]) * 1e9);
    heap::AgeCell cell;
    cell.log2_nanos = static_cast<uint8_t>(63 - __builtin_clzll(nanos));
    cell.eighth = heap::EighthOf(nanos);
    cell.amount = sample[heap::Metric::kLive];
    sample.ages = {cell};
  }
  for (double seconds = 0; seconds <= 100; seconds += 10) {
    const double resident = seconds < 30 ? 0 : 150 * seconds + 4000;
    profile.timeline.push_back({seconds, 200 * seconds, 150 * seconds, 150 * seconds, resident});
  }
  return profile;
}

heap::HeapProfile Named(const std::string& name) {
  if (name == "hostile") return Hostile();
  if (name == "small") return Small();
  if (name == "library") return Library();
  if (name == "births") return Births();
  ServerOptions options;
  if (name == "large") options.random_stacks = 50000;
  if (name == "before") {
    options.seed = 2;
    options.cache_growth = 0.55;
    options.has_indexer = false;
  }
  if (name == "again") options.seed = 3;
  return ServerProfile(options);
}

absl::StatusOr<heap::HeapProfile> Load(const std::string& path, const NameSources&) {
  return Named(path);
}

struct MadePage {
  const char* file;
  std::vector<std::string> args;
};

const MadePage kPages[] = {
    {"server.html", {"server"}},
    {"diff.html", {"server", "--diff=before", "--title=server, with the new cache"}},
    {"equal.html", {"server", "--diff=again"}},
    {"hostile.html", {"hostile", "--title=</title><script>document.title='owned'</script>"}},
    {"small.html", {"small"}},
    {"library.html", {"library"}},
    {"births.html", {"births"}},
    {"large.html", {"large"}},
};

void AddLine(heap::Metric metric, const std::string& function, const heap::Estimate& sum,
             std::string* text) {
  const heap::Interval interval = heap::BytesInterval(sum);
  *text += std::string(heap::MetricName(metric)) + "\t" + function;
  for (double value : {sum.amount.bytes, interval.low, interval.high}) {
    *text += "\t" + std::to_string(value);
  }
  *text += "\n";
}

std::set<std::string> FunctionsOf(const heap::HeapProfile& profile, const heap::Sample& sample) {
  std::set<std::string> names;
  for (const uint32_t location : sample.stack) {
    for (const heap::Line& line : profile.locations[location].lines) {
      names.insert(profile.functions[line.function].name);
    }
  }
  return names;
}

// The server's amounts as C++ has them: for each metric a line of its name, nothing, bytes and
// their interval; then such a line for each function, with all that it called.
std::string Expected() {
  const heap::HeapProfile profile = Named("server");
  std::string text;
  for (heap::Metric metric : {heap::Metric::kAllocated, heap::Metric::kPeak, heap::Metric::kLive}) {
    heap::Estimate sum;
    std::map<std::string, heap::Estimate> functions;
    for (const heap::Sample& sample : profile.samples) {
      const heap::Estimate estimate =
          heap::EstimateOf(sample[metric], sample, heap::SamplingOf(profile, metric));
      sum.Add(estimate);
      for (const std::string& name : FunctionsOf(profile, sample)) functions[name].Add(estimate);
    }
    AddLine(metric, "", sum, &text);
    for (const auto& [name, of_function] : functions) {
      if (of_function.amount.bytes > 0) AddLine(metric, name, of_function, &text);
    }
  }
  return text;
}

int MakeAll(const std::string& folder) {
  for (const MadePage& page : kPages) {
    std::vector<std::string> args = page.args;
    args.insert(args.end(), {"-o", folder + "/" + page.file});
    const CommandResult result = RunFlameWith(Load, args);
    fputs((result.out + result.err).c_str(), stderr);
    if (result.status != 0) return result.status;
  }
  std::string error;
  if (WriteFileAtomically(folder + "/expected.txt", Expected(), 0644, &error)) return 0;
  fputs((error + "\n").c_str(), stderr);
  return 2;
}

}  // namespace
}  // namespace allomon::flame

int main(int argc, char** argv) { return argc == 2 ? allomon::flame::MakeAll(argv[1]) : 2; }
