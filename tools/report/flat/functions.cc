#include "tools/report/flat/functions.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tools/text/amounts.h"
#include "tracker/base/check.h"

namespace allomon::report {
namespace {

constexpr MlmonInt kMost = ~(MlmonInt{1} << 127);

bool IsUsed(const MlmonCount& count) {
  return count.current != 0 || count.stack != 0 || count.stack_gc != 0;
}

bool Differs(const MlmonCount& a, const MlmonCount& b) {
  return a.current != b.current || a.stack != b.stack || a.stack_gc != b.stack_gc;
}

auto NameOrder(const SourceName& name) { return std::tie(name.name, name.position); }

bool InOrder(const Function& a, const Function& b, SortKey key) {
  if (key != SortKey::kName) {
    const auto measures = [key](const Function& function) {
      return std::make_tuple(Measure(function.count, key), function.count.current,
                             function.count.stack);
    };
    if (measures(a) != measures(b)) return measures(a) > measures(b);
  }
  return NameOrder(*a.name) < NameOrder(*b.name);
}

// Returns the size of a growth, which is never below -kMost.
MlmonInt Magnitude(MlmonInt growth) { return growth < 0 ? -growth : growth; }

bool InOrder(const Change& a, const Change& b, SortKey key) {
  if (key != SortKey::kName) {
    const MlmonInt change_a = Magnitude(a.Growth(key)), change_b = Magnitude(b.Growth(key));
    if (change_a != change_b) return change_a > change_b;
  }
  return NameOrder(*a.name) < NameOrder(*b.name);
}

// Names of the C library's and the kernel's entry points, and main.
constexpr std::string_view kStarters[] = {"main",
                                          "_start",
                                          "__libc_start_main",
                                          "__libc_start_main_impl",
                                          "__libc_start_call_main",
                                          "start_thread",
                                          "clone",
                                          "__clone",
                                          "clone3",
                                          "__clone3"};

bool IsStarter(const SourceName& name, MlmonInt current, double whole) {
  return std::find(std::begin(kStarters), std::end(kStarters), name.name) != std::end(kStarters) &&
         100 * static_cast<double>(current) < whole;
}

bool IsStarter(const Function& function, double whole) {
  return IsStarter(*function.name, function.count.current, whole);
}

bool IsStarter(const Change& change, double whole) {
  return IsStarter(*change.name, change.after.current, whole);
}

template <typename Row>
bool AreInOrder(const std::vector<Row>& rows, SortKey key) {
  return std::is_sorted(rows.begin(), rows.end(),
                        [key](const Row& a, const Row& b) { return InOrder(a, b, key); });
}

template <typename Row>
void Sort(const Order& order, double whole, std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [&order](const Row& a, const Row& b) { return InOrder(a, b, order.key); });
  ALLOMON_DCHECK("inv.report.order", AreInOrder(*rows, order.key));
  if (!order.starters_last) return;
  std::stable_partition(rows->begin(), rows->end(),
                        [whole](const Row& row) { return !IsStarter(row, whole); });
}

// Finds the functions of one build in another.
class Matcher {
 public:
  void AddBefore(const Profile& profile) {
    Add(profile, [](const MlmonCount& count, Change* change) {
      change->before = count;
      change->in_before = true;
    });
  }
  void AddAfter(const Profile& profile) {
    Add(profile, [](const MlmonCount& count, Change* change) {
      change->after = count;
      change->in_after = true;
    });
  }
  std::vector<Change>& changes() { return changes_; }

 private:
  template <typename Store>
  void Add(const Profile& profile, Store store) {
    std::unordered_map<std::string, size_t> seen;
    const auto& names = profile.program.table.names;
    for (size_t i = 0; i < names.size(); ++i) {
      std::string key = names[i].name + "\t" + std::string(FileOf(names[i]));
      key += "\t" + std::to_string(seen[key]++);
      ALLOMON_DCHECK_LT("inv.report.lengths", i, profile.data.masters.size());
      const auto [place, is_new] = place_of_.emplace(std::move(key), changes_.size());
      if (is_new) changes_.emplace_back();
      ALLOMON_DCHECK_LT("inv.report.lengths", place->second, changes_.size());
      Change& change = changes_[place->second];
      change.name = &names[i];
      store(profile.data.masters[i], &change);
    }
  }

  std::unordered_map<std::string, size_t> place_of_;
  std::vector<Change> changes_;
};

}  // namespace

Order OrderOf(std::optional<SortKey> key, ProfileStyle style) {
  if (key.has_value()) return {*key, false};
  return style == ProfileStyle::kStack ? Order{SortKey::kStack, true} : Order{};
}

MlmonInt Measure(const MlmonCount& count, SortKey key) {
  if (key == SortKey::kStack) return count.stack;
  return key == SortKey::kGc ? count.stack_gc : count.current;
}

std::string_view FileOf(const SourceName& name) {
  return std::string_view(name.position).substr(0, name.position.rfind(": "));
}

size_t ShownRows(size_t count, size_t most) { return most == 0 ? count : std::min(count, most); }

std::vector<Function> Functions(const Profile& profile, const Order& order) {
  std::vector<Function> functions;
  const auto& names = profile.program.table.names;
  for (size_t i = 0; i < names.size(); ++i) {
    const MlmonCount& count = profile.data.masters[i];
    if (IsUsed(count)) functions.push_back({&names[i], count});
  }
  ALLOMON_DCHECK_EQ("inv.report.lengths", names.size(), profile.data.masters.size());
  ALLOMON_DCHECK_LE("inv.report.part", functions.size(), names.size());
  Sort(order, Whole(profile.data), &functions);
  return functions;
}

size_t UnusedFunctions(const Profile& profile) {
  size_t unused = 0;
  const auto& names = profile.program.table.names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].position.empty() && !IsUsed(profile.data.masters[i])) ++unused;
  }
  ALLOMON_DCHECK_LE("inv.report.part", unused, names.size());
  return unused;
}

MlmonInt SumFrom(const std::vector<Function>& functions, size_t first) {
  MlmonInt sum = 0;
  ALLOMON_DCHECK_LE("inv.report.part", first, functions.size());
  for (size_t i = first; i < functions.size(); ++i) {
    if (__builtin_add_overflow(sum, functions[i].count.current, &sum)) return kMost;
  }
  return sum;
}

MlmonInt Change::Growth(SortKey key) const {
  MlmonInt growth = 0;
  const bool overflow = __builtin_sub_overflow(Measure(after, key), Measure(before, key), &growth);
  if (overflow) return Measure(after, key) < 0 ? -kMost : kMost;
  return std::max(growth, -kMost);
}

std::vector<Change> Changes(const Pair& pair, const Order& order) {
  Matcher matcher;
  matcher.AddBefore(pair.before);
  matcher.AddAfter(pair.after);
  std::vector<Change> changes;
  for (const Change& change : matcher.changes()) {
    ALLOMON_DCHECK("inv.report.part", change.in_before || change.in_after);
    if (Differs(change.before, change.after)) changes.push_back(change);
  }
  ALLOMON_DCHECK_LE("inv.report.part", changes.size(), matcher.changes().size());
  Sort(order, Whole(pair.after.data), &changes);
  return changes;
}

void RemoveUnchanged(SortKey key, std::vector<Change>* changes) {
  changes->erase(std::remove_if(changes->begin(), changes->end(),
                                [key](const Change& change) { return change.Growth(key) == 0; }),
                 changes->end());
}

}  // namespace allomon::report
