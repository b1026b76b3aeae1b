// Jumps from one stack to another are no error here.
#undef _FORTIFY_SOURCE

#include "tests/model/memory_order/checker.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace allomon::model {
namespace {

constexpr int kMostThreads = 4;
constexpr int kMostLocations = 64;
constexpr int kMostSteps = 2000;  // of one run
constexpr uintptr_t kLeastAddress = 65536;
constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kLineBytes = 64;
constexpr size_t kMapBytes = size_t{64} << 20;

// The knowledge of a thread.  It must not read a store older than the position that it has seen.
// The steps of each thread up to that number happened before.
struct View {
  uint32_t seen[kMostLocations] = {};
  uint32_t steps[kMostThreads] = {};

  void JoinSeen(const View& other) {
    for (int i = 0; i < kMostLocations; ++i) seen[i] = std::max(seen[i], other.seen[i]);
  }
  void Join(const View& other) {
    JoinSeen(other);
    for (int i = 0; i < kMostThreads; ++i) steps[i] = std::max(steps[i], other.steps[i]);
  }
};

// One store.  Positions of a location's stores are its modification order.
struct Message {
  uint32_t position;
  bool is_update;  // nothing comes between it and the store before
  uint64_t value;
  View view;  // learnt by a thread that acquires it
};

// Far apart, since later stores may come between.
constexpr uint32_t kPositionStep = uint32_t{1} << 16;

struct Location {
  uintptr_t at;
  size_t size;
  std::vector<Message> messages;  // by position
  uint32_t ordered = 0;           // position of the newest that a seq_cst operation has seen
};

// The step at which each thread last accessed a byte, for 8 bytes of memory.
struct Granule {
  using Steps = uint32_t[kMostThreads][8];

  Steps plain_writes = {};
  Steps plain_reads = {};
  Steps atomic_writes = {};
  Steps atomic_reads = {};
};

struct Fiber {
  ucontext_t first;
  jmp_buf here;
  bool begun = false;
  bool done = false;
  bool waits = false;  // until another thread stores
  bool fresh = false;  // its loads return the newest values
  const std::function<bool()>* until = nullptr;
  char* stack = nullptr;
  View now;
  View acquired;  // as `now` would be after an acquire fence
  View released;  // `now` at the last release fence
};

// Memory that a thread has mapped: filling it with zeros is a plain store of that thread's.
struct Mapping {
  uintptr_t begin;
  uintptr_t end;
  int thread;
  uint32_t step;
};

struct Choice {
  int chosen;
  int count;
};

// The exploration that runs.  Threads are fibers on stacks that are kept.
struct Explorer {
  bool running = false;
  const Program* program = nullptr;
  Bounds bounds;
  std::vector<Weakening> without;
  std::vector<Choice> choices;
  size_t next_choice = 0;
  Fiber fibers[kMostThreads];
  int n_threads = 0;
  int current = -1;
  ucontext_t scheduler_context;
  jmp_buf scheduler;
  int preemptions = 0;
  int stale = 0;
  int steps = 0;
  int idle = 0;  // rounds in which all threads waited
  View full;     // what full fences have seen
  std::vector<Location> locations;
  std::map<uintptr_t, size_t> places;
  std::unordered_map<uintptr_t, Granule> granules;
  std::vector<Mapping> mappings;  // of this run's threads
  std::string failure;
  std::set<Weakening> barriers;
  // Whether the program is without a barrier, by its place, operation and order.
  std::map<std::tuple<const char*, const char*, int, const char*, const char*>, bool> is_weaker;
  bool tracing = false;
  std::string trace;
  char* map = nullptr;
  size_t mapped_bytes = 0;
  std::vector<bool> is_touched;  // lines of the map
  std::vector<size_t> touched;
};

Explorer explorer;

Fiber& Now() { return explorer.fibers[explorer.current]; }

[[noreturn]] void FailRun(const std::string& text) {
  if (explorer.failure.empty()) explorer.failure = text;
  _longjmp(explorer.scheduler, 1);
}

// Notes the lines of the map that are to be cleared before the next run.
void Touch(const void* at, size_t size) {
  const size_t begin = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(explorer.map);
  if (begin >= explorer.mapped_bytes) return;
  for (size_t line = begin / kLineBytes; line <= (begin + size - 1) / kLineBytes; ++line) {
    if (explorer.is_touched[line]) continue;
    explorer.is_touched[line] = true;
    explorer.touched.push_back(line);
  }
}

int Choose(int count) {
  if (count <= 1) return 0;
  if (explorer.next_choice == explorer.choices.size()) explorer.choices.push_back({0, count});
  const Choice& choice = explorer.choices[explorer.next_choice++];
  if (choice.count != count) FailRun("the run does not repeat: it depends on more than choices");
  return choice.chosen;
}

// --- Orders of the code, one of which may be weakened.

bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

std::string BaseName(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Without template arguments.
std::string FunctionName(const char* function) {
  return std::string(function, strcspn(function, "<"));
}

// Notes a barrier, and tells whether this run is without it.
bool IsWeaker(const Where& where, const char* operation, const char* order) {
  if (where.line == 0) return false;
  const auto [known, is_new] = explorer.is_weaker.try_emplace(
      std::make_tuple(where.file, where.function, where.line, operation, order), false);
  if (is_new) {
    const Weakening barrier{
        BaseName(where.file) + " " + FunctionName(where.function) + " " + operation + " " + order,
        where.line};
    explorer.barriers.insert(barrier);
    known->second = std::find(explorer.without.begin(), explorer.without.end(), barrier) !=
                    explorer.without.end();
  }
  return known->second;
}

std::memory_order OrderAt(const Where& where, const char* operation, std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return order;
    case std::memory_order_acquire:
    case std::memory_order_consume:
      return IsWeaker(where, operation, "acquire") ? std::memory_order_relaxed : order;
    case std::memory_order_release:
      return IsWeaker(where, operation, "release") ? std::memory_order_relaxed : order;
    case std::memory_order_acq_rel: {
      const bool no_acquire = IsWeaker(where, operation, "acquire");
      const bool no_release = IsWeaker(where, operation, "release");
      return no_acquire   ? std::memory_order_release
             : no_release ? std::memory_order_acquire
                          : order;
    }
    case std::memory_order_seq_cst:
      if (IsWeaker(where, operation, "at all")) return std::memory_order_relaxed;
      return IsWeaker(where, operation, "seq_cst") ? std::memory_order_acq_rel : order;
  }
  return order;
}

void Trace(const char* what, const void* at, uint64_t value, const Where& where) {
  if (!explorer.tracing) return;
  char line[200];
  snprintf(line, sizeof(line), "  %d: %-10s %p %#llx  %s:%d %s\n", explorer.current, what, at,
           static_cast<unsigned long long>(value), BaseName(where.file).c_str(), where.line,
           FunctionName(where.function).c_str());
  explorer.trace += line;
}

// --- The schedule.

void ToScheduler() {
  if (_setjmp(Now().here) == 0) _longjmp(explorer.scheduler, 2);
}

// A condition is no part of the program.
bool Holds(const std::function<bool()>& condition) {
  explorer.running = false;
  const bool holds = condition();
  explorer.running = true;
  return holds;
}

bool IsReady(const Fiber& fiber) {
  return !fiber.done && !fiber.waits && (fiber.until == nullptr || Holds(*fiber.until));
}

// Before each operation another thread may go on.
void Step() {
  if (++explorer.steps > kMostSteps) FailRun("endless: " + std::to_string(kMostSteps) + " steps");
  ++Now().now.steps[explorer.current];
  if (explorer.preemptions >= explorer.bounds.preemptions) return;
  int others[kMostThreads];
  int count = 0;
  for (int i = 0; i < explorer.n_threads; ++i) {
    if (i != explorer.current && IsReady(explorer.fibers[i])) others[count++] = i;
  }
  const int choice = Choose(count + 1);
  if (choice == 0) return;
  ++explorer.preemptions;
  if (_setjmp(Now().here) == 0) {
    explorer.current = others[choice - 1];
    _longjmp(explorer.scheduler, 3);
  }
}

void Wake() {
  explorer.idle = 0;
  for (int i = 0; i < explorer.n_threads; ++i) explorer.fibers[i].waits = false;
}

// --- Races.

[[noreturn]] void FailRace(const char* what, uintptr_t address) {
  char text[100];
  snprintf(text, sizeof(text), "race: %s of thread %d at %#lx", what, explorer.current,
           static_cast<unsigned long>(address));
  FailRun(text);
}

// Fails if another thread has accessed the byte, and that did not happen before.
void CheckAfter(const Granule::Steps& steps, const char* what, uintptr_t byte) {
  for (int t = 0; t < explorer.n_threads; ++t) {
    if (t != explorer.current && steps[t][byte & 7] > Now().now.steps[t]) FailRace(what, byte);
  }
}

// Two accesses race if one is a store, one is plain, and neither happened before the other.
void CheckAccess(const void* at, size_t size, bool is_write, bool is_atomic) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
  if (begin < kLeastAddress) FailRun("a null pointer");
  for (const Mapping& mapping : explorer.mappings) {
    if (begin < mapping.begin || begin >= mapping.end || mapping.thread == explorer.current)
      continue;
    if (mapping.step > Now().now.steps[mapping.thread])
      FailRace("access beside the mapping", begin);
  }
  const uint32_t step = Now().now.steps[explorer.current];
  Granule* granule = nullptr;
  for (uintptr_t byte = begin; byte < begin + size; ++byte) {
    if (granule == nullptr || (byte & 7) == 0) granule = &explorer.granules[byte & ~uintptr_t{7}];
    CheckAfter(granule->plain_writes, "access beside a plain store", byte);
    if (is_write) CheckAfter(granule->plain_reads, "store beside a plain load", byte);
    if (!is_atomic) CheckAfter(granule->atomic_writes, "plain access beside a store", byte);
    if (!is_atomic && is_write)
      CheckAfter(granule->atomic_reads, "plain store beside a load", byte);
    Granule::Steps& steps = is_atomic ? (is_write ? granule->atomic_writes : granule->atomic_reads)
                                      : (is_write ? granule->plain_writes : granule->plain_reads);
    steps[explorer.current][byte & 7] = step;
  }
}

// --- Locations.

uint64_t Memory(const void* at, size_t size) {
  uint64_t word = 0;
  memcpy(&word, at, size);
  return word;
}

size_t LocationAt(const void* at, size_t size) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  const auto [place, is_new] = explorer.places.try_emplace(address, explorer.locations.size());
  if (is_new) {
    if (explorer.locations.size() == kMostLocations) FailRun("more locations than the checker has");
    explorer.locations.push_back({address, size, {}, 0});
    explorer.locations.back().messages.push_back({kPositionStep, false, Memory(at, size), {}});
  }
  Location& location = explorer.locations[place->second];
  if (location.size != size) FailRun("operations of different sizes at one address");
  return place->second;
}

// A plain store to a word that is an atomic at other times.  All else happened before.
void ForgetStores(uintptr_t address, size_t size) {
  for (auto place = explorer.places.lower_bound(address & ~uintptr_t{7});
       place != explorer.places.end() && place->first < address + size; ++place) {
    Location& location = explorer.locations[place->second];
    if (place->first + location.size <= address) continue;
    // The store itself follows: its value is read when the location is next used.
    const uint32_t position = location.messages.back().position + kPositionStep;
    location.messages.clear();
    location.messages.push_back({position, false, 0, Now().now});
    location.messages.back().is_update = true;  // marks a value that is still in memory alone
    Now().now.seen[place->second] = position;
  }
}

void ReadPlainStore(Location& location) {
  if (location.messages.size() == 1 && location.messages[0].is_update) {
    location.messages[0].value = Memory(reinterpret_cast<void*>(location.at), location.size);
    location.messages[0].is_update = false;
  }
}

// A thread's own frames are nobody else's.
bool IsOwnStack(uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(Now().stack) < kStackBytes;
}

void NotePlain(const void* at, size_t size, bool is_write) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  if (is_write && size != 0) Touch(at, size);
  if (!explorer.running || explorer.current < 0 || size == 0 || IsOwnStack(address)) return;
  CheckAccess(at, size, is_write, false);
  if (is_write) ForgetStores(address, size);
}

// The later accesses of a thread are no part of its release.
void EndStep(int thread) { ++explorer.fibers[thread].now.steps[thread]; }

void FullFence(int thread) {
  Fiber& fiber = explorer.fibers[thread];
  fiber.now.Join(fiber.acquired);
  fiber.now.JoinSeen(explorer.full);
  for (size_t i = 0; i < explorer.locations.size(); ++i) {
    fiber.now.seen[i] = std::max(fiber.now.seen[i], explorer.locations[i].ordered);
  }
  explorer.full.JoinSeen(fiber.now);
  fiber.released = fiber.acquired = fiber.now;
  EndStep(thread);
}

// Chooses among the messages for which may(index) holds.  The newest is the first choice.
template <typename May>
size_t ChooseMessage(size_t id, std::memory_order order, May may) {
  Location& location = explorer.locations[id];
  Fiber& fiber = Now();
  uint32_t oldest = fiber.now.seen[id];
  if (order == std::memory_order_seq_cst) oldest = std::max(oldest, location.ordered);
  size_t candidates[64];
  int count = 0;
  for (size_t i = location.messages.size(); i-- > 0 && count < 64;) {
    if (location.messages[i].position < oldest) break;
    if (may(i)) candidates[count++] = i;
    const bool only_newest = fiber.fresh || explorer.stale >= explorer.bounds.stale;
    if (only_newest && count != 0) break;
  }
  if (count == 0) FailRun("no value can be read");
  const int choice = Choose(count);
  if (choice != 0) ++explorer.stale;
  return candidates[choice];
}

void See(size_t id, size_t index, std::memory_order order) {
  Location& location = explorer.locations[id];
  const Message& message = location.messages[index];
  Fiber& fiber = Now();
  fiber.now.seen[id] = std::max(fiber.now.seen[id], message.position);
  fiber.acquired.Join(message.view);
  if (Acquires(order)) fiber.now.Join(message.view);
  fiber.acquired.Join(fiber.now);
  if (order == std::memory_order_seq_cst) {
    location.ordered = std::max(location.ordered, message.position);
  }
}

// Adds a store that follows the message `before`.
void Add(size_t id, size_t before, uint64_t value, std::memory_order order, bool is_update) {
  Location& location = explorer.locations[id];
  Fiber& fiber = Now();
  const bool is_newest = before + 1 == location.messages.size();
  const uint32_t low = location.messages[before].position;
  const uint32_t position =
      is_newest ? low + kPositionStep : low + (location.messages[before + 1].position - low) / 2;
  if (position == low) FailRun("no room between two stores");
  fiber.now.seen[id] = position;
  Message message{position, is_update, value, Releases(order) ? fiber.now : fiber.released};
  message.view.seen[id] = position;
  // The release sequence goes on.
  if (is_update) message.view.Join(location.messages[before].view);
  fiber.acquired.Join(fiber.now);
  if (order == std::memory_order_seq_cst) location.ordered = std::max(location.ordered, position);
  location.messages.insert(location.messages.begin() + static_cast<ptrdiff_t>(before) + 1,
                           std::move(message));
  if (is_newest) memcpy(reinterpret_cast<void*>(location.at), &value, location.size);
  EndStep(explorer.current);
  Wake();
}

size_t Prepare(const void* at, size_t size, bool may_write) {
  Step();
  CheckAccess(at, size, may_write, true);
  const size_t id = LocationAt(at, size);
  ReadPlainStore(explorer.locations[id]);
  return id;
}

bool HasUpdateBehind(const Location& location, size_t index) {
  return index + 1 < location.messages.size() && location.messages[index + 1].is_update;
}

const char* NameOf(Operation operation) {
  switch (operation) {
    case Operation::kExchange:
      return "exchange";
    case Operation::kAdd:
      return "fetch_add";
    case Operation::kSubtract:
      return "fetch_sub";
    case Operation::kAnd:
      return "fetch_and";
    case Operation::kOr:
      return "fetch_or";
  }
  return "";
}

uint64_t Result(Operation operation, uint64_t old, uint64_t operand, size_t size) {
  const uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << size * 8) - 1;
  switch (operation) {
    case Operation::kExchange:
      return operand & mask;
    case Operation::kAdd:
      return (old + operand) & mask;
    case Operation::kSubtract:
      return (old - operand) & mask;
    case Operation::kAnd:
      return old & operand;
    case Operation::kOr:
      return old | operand;
  }
  return 0;
}

// --- One run.

void FiberMain() {
  explorer.program->threads[static_cast<size_t>(explorer.current)]();
  Now().done = true;
  Wake();
  _longjmp(explorer.scheduler, 2);
}

void BeginRun() {
  explorer.next_choice = 0;
  explorer.preemptions = explorer.stale = explorer.steps = explorer.idle = 0;
  explorer.locations.clear();
  explorer.places.clear();
  explorer.granules.clear();
  explorer.mappings.clear();
  explorer.full = View{};
  explorer.trace.clear();
  if (explorer.map == nullptr) {
    explorer.map = static_cast<char*>(mmap(nullptr, kMapBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  explorer.is_touched.resize(kMapBytes / kLineBytes);
  for (const size_t line : explorer.touched) {
    memset(explorer.map + line * kLineBytes, 0, kLineBytes);
    explorer.is_touched[line] = false;
  }
  explorer.touched.clear();
  explorer.mapped_bytes = 0;
  for (int i = 0; i < explorer.n_threads; ++i) {
    Fiber& fiber = explorer.fibers[i];
    if (fiber.stack == nullptr) fiber.stack = static_cast<char*>(malloc(kStackBytes));
    fiber.begun = fiber.done = fiber.waits = fiber.fresh = false;
    fiber.until = nullptr;
    fiber.now = fiber.acquired = fiber.released = View{};
    fiber.now.steps[i] = 1;  // all threads know of step 0
  }
}

void Resume(int thread) {
  explorer.current = thread;
  Fiber& fiber = explorer.fibers[thread];
  if (fiber.begun) _longjmp(fiber.here, 1);
  fiber.begun = true;
  getcontext(&fiber.first);
  fiber.first.uc_stack.ss_sp = fiber.stack;
  fiber.first.uc_stack.ss_size = kStackBytes;
  fiber.first.uc_link = nullptr;
  makecontext(&fiber.first, FiberMain, 0);
  setcontext(&fiber.first);
}

// Any thread may go on if none was preempted.
int ChooseThread() {
  int ready[kMostThreads];
  int count = 0;
  bool all_done = true;
  for (int i = 0; i < explorer.n_threads; ++i) {
    all_done = all_done && explorer.fibers[i].done;
    if (IsReady(explorer.fibers[i])) ready[count++] = i;
  }
  if (all_done) return -1;
  if (count != 0) return ready[Choose(count)];
  if (++explorer.idle > 2) FailRun("no thread goes on");
  for (int i = 0; i < explorer.n_threads; ++i) explorer.fibers[i].waits = false;
  return ChooseThread();
}

void RunThreads() {
  explorer.running = true;
  // Jumps: 1 a failure, 2 the thread has stopped, 3 it was preempted.
  const int jump = _setjmp(explorer.scheduler);
  if (jump == 1) {
    explorer.running = false;
    return;
  }
  const int next = jump == 3 ? explorer.current : ChooseThread();
  if (next >= 0) Resume(next);
  explorer.running = false;
}

// prepare() and check().
void RunAlone(const std::function<void()>& part) {
  explorer.current = -1;
  if (_setjmp(explorer.scheduler) == 0) part();
}

void RunOnce() {
  BeginRun();
  RunAlone(explorer.program->prepare);
  if (explorer.failure.empty()) RunThreads();
  if (explorer.failure.empty()) RunAlone(explorer.program->check);
}

bool NextChoices() {
  explorer.choices.resize(explorer.next_choice);
  while (!explorer.choices.empty()) {
    Choice& last = explorer.choices.back();
    if (++last.chosen < last.count) return true;
    explorer.choices.pop_back();
  }
  return false;
}

}  // namespace

Outcome Explore(const Program& program, const Bounds& bounds,
                const std::vector<Weakening>& without) {
  explorer.program = &program;
  explorer.bounds = bounds;
  explorer.without = without;
  explorer.n_threads = static_cast<int>(program.threads.size());
  explorer.choices.clear();
  explorer.barriers.clear();
  explorer.is_weaker.clear();
  explorer.failure.clear();
  Outcome outcome;
  do {
    ++outcome.runs;
    RunOnce();
  } while (explorer.failure.empty() && NextChoices());
  outcome.failure = explorer.failure;
  if (!outcome.failure.empty() && without.empty()) {
    explorer.choices.resize(explorer.next_choice);
    explorer.failure.clear();
    explorer.tracing = true;
    RunOnce();
    explorer.tracing = false;
    outcome.failure += "\n" + explorer.trace;
  }
  outcome.barriers.assign(explorer.barriers.begin(), explorer.barriers.end());
  return outcome;
}

namespace {

// Explores the programs until one fails.  Returns the failure.
std::string FirstFailure(const std::vector<Program>& programs, const Bounds& bounds,
                         const std::vector<Weakening>& without, std::set<Weakening>* barriers) {
  uint64_t runs = 0;
  std::string failure;
  for (size_t i = 0; i < programs.size() && failure.empty(); ++i) {
    const Outcome outcome = Explore(programs[i], bounds, without);
    runs += outcome.runs;
    failure = outcome.failure;
    barriers->insert(outcome.barriers.begin(), outcome.barriers.end());
  }
  printf("%9llu runs", static_cast<unsigned long long>(runs));
  for (const Weakening& weakening : without) {
    printf(", without %s (line %d)", weakening.name.c_str(), weakening.line);
  }
  printf(": %s\n", failure.empty() ? "no failure" : failure.c_str());
  fflush(stdout);
  return failure;
}

template <typename Value>
bool Has(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::string FindAllBarriers(const std::vector<Program>& programs, const Bounds& bounds,
                            const std::vector<std::string>& files,
                            const std::vector<std::string>& stronger,
                            const std::vector<std::vector<std::string>>& either) {
  std::set<Weakening> barriers;
  const std::string failure = FirstFailure(programs, bounds, {}, &barriers);
  if (!failure.empty()) return "fails as it is: " + failure;
  std::string wrong;
  std::set<Weakening> seen;
  std::set<std::string> survivors;
  for (const Weakening& barrier : barriers) {
    if (!Has(files, barrier.name.substr(0, barrier.name.find(' ')))) continue;
    if (!FirstFailure(programs, bounds, {barrier}, &seen).empty()) continue;
    survivors.insert(barrier.name);
    bool is_known = Has(stronger, barrier.name);
    for (const std::vector<std::string>& group : either) is_known |= Has(group, barrier.name);
    if (!is_known) wrong += "not missed: " + barrier.name + "\n";
  }
  for (const std::string& name : stronger) {
    if (survivors.count(name) == 0) wrong += "missed, or not there: " + name + "\n";
  }
  for (const std::vector<std::string>& group : either) {
    std::vector<Weakening> without;
    for (const Weakening& barrier : barriers) {
      if (Has(group, barrier.name)) without.push_back(barrier);
    }
    if (without.size() < group.size() || FirstFailure(programs, bounds, without, &seen).empty()) {
      wrong += "not missed together, or not there: " + group[0] + "\n";
    }
  }
  return wrong;
}

void Expect(bool condition, const char* text) {
  if (!condition) FailRun(text);
}

void Pause() {
  if (!explorer.running) return;
  Fiber& fiber = Now();
  fiber.waits = fiber.fresh = true;
  ToScheduler();
}

void WaitUntil(const std::function<bool()>& condition) {
  Fiber& fiber = Now();
  if (Holds(condition)) return;
  fiber.until = &condition;
  ToScheduler();
  fiber.until = nullptr;
}

int ThisThread() { return explorer.current; }

void BarrierOnAll(const Where& where) {
  if (!explorer.running || IsWeaker(where, "barrier", "on all")) return;
  Step();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < explorer.n_threads; ++i) FullFence(i);
  }
}

void* Copy(void* to, const void* from, size_t size_bytes) {
  NotePlain(from, size_bytes, false);
  NotePlain(to, size_bytes, true);
  return memcpy(to, from, size_bytes);
}

void* Map(size_t size_bytes) {
  char* const pages = explorer.map + explorer.mapped_bytes;
  explorer.mapped_bytes += (size_bytes + 63) & ~size_t{63};
  if (explorer.mapped_bytes > kMapBytes) abort();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(pages);
  if (explorer.running) {
    const uint32_t step = Now().now.steps[explorer.current];
    explorer.mappings.push_back({begin, begin + size_bytes, explorer.current, step});
  }
  return pages;
}

uint64_t Load(const void* at, size_t size, std::memory_order order, const Where& where) {
  if (!explorer.running) return Memory(at, size);
  order = OrderAt(where, "load", order);
  const size_t id = Prepare(at, size, false);
  const size_t index = ChooseMessage(id, order, [](size_t) { return true; });
  See(id, index, order);
  const uint64_t value = explorer.locations[id].messages[index].value;
  Trace("load", at, value, where);
  return value;
}

void Store(void* at, size_t size, uint64_t value, std::memory_order order, const Where& where) {
  Touch(at, size);
  if (!explorer.running) {
    memcpy(at, &value, size);
    return;
  }
  order = OrderAt(where, "store", order);
  const size_t id = Prepare(at, size, true);
  const size_t before = ChooseMessage(
      id, order, [&](size_t index) { return !HasUpdateBehind(explorer.locations[id], index); });
  Add(id, before, value, order, false);
  Trace("store", at, value, where);
}

uint64_t Update(void* at, size_t size, Operation operation, uint64_t operand,
                std::memory_order order, const Where& where) {
  Touch(at, size);
  if (!explorer.running) {
    const uint64_t old = Memory(at, size);
    const uint64_t value = Result(operation, old, operand, size);
    memcpy(at, &value, size);
    return old;
  }
  order = OrderAt(where, NameOf(operation), order);
  const size_t id = Prepare(at, size, true);
  const size_t index = ChooseMessage(
      id, order, [&](size_t i) { return !HasUpdateBehind(explorer.locations[id], i); });
  See(id, index, order);
  const uint64_t old = explorer.locations[id].messages[index].value;
  Add(id, index, Result(operation, old, operand, size), order, true);
  Trace("update", at, Result(operation, old, operand, size), where);
  return old;
}

bool CompareExchange(void* at, size_t size, uint64_t* expected, uint64_t desired,
                     std::memory_order success, std::memory_order failure, const Where& where) {
  Touch(at, size);
  if (!explorer.running) {
    const uint64_t old = Memory(at, size);
    if (old == *expected) memcpy(at, &desired, size);
    const bool changed = old == *expected;
    *expected = old;
    return changed;
  }
  success = OrderAt(where, "compare_exchange", success);
  failure = OrderAt(where, "failed compare_exchange", failure);
  const size_t id = Prepare(at, size, true);
  const auto may = [&](size_t index) {
    const Location& location = explorer.locations[id];
    return location.messages[index].value != *expected || !HasUpdateBehind(location, index);
  };
  // The same oldest message for both, though only one order may be seq_cst.
  const size_t index = ChooseMessage(id, success, may);
  const uint64_t old = explorer.locations[id].messages[index].value;
  const bool changed = old == *expected;
  See(id, index, changed ? success : failure);
  if (changed) Add(id, index, desired, success, true);
  *expected = old;
  Trace(changed ? "changed" : "unchanged", at, changed ? desired : old, where);
  return changed;
}

void Fence(std::memory_order order, const Where& where) {
  if (!explorer.running) return;
  order = OrderAt(where, "fence", order);
  Step();
  Fiber& fiber = Now();
  Trace("fence", nullptr, static_cast<uint64_t>(order), where);
  if (order == std::memory_order_seq_cst) return FullFence(explorer.current);
  if (Acquires(order)) fiber.now.Join(fiber.acquired);
  if (Releases(order)) fiber.released = fiber.now;
  EndStep(explorer.current);
}

}  // namespace allomon::model

// --- What a compiler calls for plain accesses with -fsanitize=thread.

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_atomic_signal_fence(int) {}
char __tsan_atomic8_load(const volatile char* at, int) { return *at; }  // of guards of statics
void __tsan_read_range(void* at, size_t size) { allomon::model::NotePlain(at, size, false); }
void __tsan_write_range(void* at, size_t size) { allomon::model::NotePlain(at, size, true); }

#define ALLOMON_MODEL_PLAIN(size)                                                            \
  void __tsan_read##size(void* at) { allomon::model::NotePlain(at, size, false); }           \
  void __tsan_write##size(void* at) { allomon::model::NotePlain(at, size, true); }           \
  void __tsan_unaligned_read##size(void* at) { allomon::model::NotePlain(at, size, false); } \
  void __tsan_unaligned_write##size(void* at) { allomon::model::NotePlain(at, size, true); }

ALLOMON_MODEL_PLAIN(1)
ALLOMON_MODEL_PLAIN(2)
ALLOMON_MODEL_PLAIN(4)
ALLOMON_MODEL_PLAIN(8)
ALLOMON_MODEL_PLAIN(16)

}  // extern "C"
