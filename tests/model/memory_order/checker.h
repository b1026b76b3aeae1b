// A checker of memory orders: runs a few threads of real code in every order, and lets every load
// return every value that the language's memory model permits.  README.md of tests/model/ has the
// model and its limits.
//
// The code under test is that of production.  A test includes real_code.h, which renames
// std::atomic, and then the sources themselves.  It is compiled by -fsanitize=thread and linked
// without that sanitizer's library: the checker is called for each plain load and store, too, and
// finds races on plain data.
//
// One thread of the system.  The threads of a test are fibers, and run again from their beginning
// for each sequence of choices.
#ifndef ALLOMON_TESTS_MODEL_MEMORY_ORDER_CHECKER_H_
#define ALLOMON_TESTS_MODEL_MEMORY_ORDER_CHECKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace allomon::model {

// The place of an atomic operation in the source.
struct Where {
  const char* file;
  const char* function;
  int line;
};

// The threads of a test.  prepare() and check() run alone, before and after them.
struct Program {
  std::function<void()> prepare;
  std::vector<std::function<void()>> threads;
  std::function<void()> check = [] {};
};

struct Bounds {
  int preemptions = 2;  // switches from a thread that could have gone on
  int stale = 2;  // loads of another value than the newest, and stores that are not the newest
};

// The order of one operation, which a run may be without.
struct Weakening {
  std::string name;  // "file function operation order"
  int line = 0;

  bool operator<(const Weakening& other) const {
    return name != other.name ? name < other.name : line < other.line;
  }
  bool operator==(const Weakening& other) const { return name == other.name && line == other.line; }
};

struct Outcome {
  std::string failure;  // empty: no sequence of choices fails
  uint64_t runs = 0;
  std::vector<Weakening> barriers;  // of the operations that were executed
};

// Tries all choices within the bounds, or until one fails.  The program has not the orders in
// `without`.
Outcome Explore(const Program& program, const Bounds& bounds,
                const std::vector<Weakening>& without = {});

// Explores the programs as they are, and then without each of the barriers that they execute in
// `files`.  Returns a line for each error:
// - a program fails as it is;
// - no program misses a barrier, and it is neither in `stronger` nor in a group of `either`;
// - a program misses a barrier in `stronger`, or it is not there;
// - no program misses all barriers of a group of `either`, of which one suffices.
std::string FindAllBarriers(const std::vector<Program>& programs, const Bounds& bounds,
                            const std::vector<std::string>& files,
                            const std::vector<std::string>& stronger,
                            const std::vector<std::vector<std::string>>& either = {});

// --- Called by the threads of a test.

// Fails the run if the condition does not hold.
void Expect(bool condition, const char* text);
// Lets the other threads go on.  Later loads of this thread return the newest values.
void Pause();
// Blocks until the condition, of plain data, holds.  No order is implied.
void WaitUntil(const std::function<bool()>& condition);
// Which of the threads runs, from 0; -1 in prepare() and check().
int ThisThread();
// All threads execute a full barrier, between two of their operations (membarrier(2)).
void BarrierOnAll(const Where& where);
// memcpy() of plain data.
void* Copy(void* to, const void* from, size_t size_bytes);
// Zero-filled memory that is there until the next run.
void* Map(size_t size_bytes);

// --- Called by Atomic and by the names in real_code.h.

enum class Operation : uint8_t { kExchange, kAdd, kSubtract, kAnd, kOr };

uint64_t Load(const void* at, size_t size, std::memory_order order, const Where& where);
void Store(void* at, size_t size, uint64_t value, std::memory_order order, const Where& where);
uint64_t Update(void* at, size_t size, Operation operation, uint64_t operand,
                std::memory_order order, const Where& where);
bool CompareExchange(void* at, size_t size, uint64_t* expected, uint64_t desired,
                     std::memory_order success, std::memory_order failure, const Where& where);
void Fence(std::memory_order order, const Where& where);

constexpr std::memory_order OrderOfFailure(std::memory_order order) {
  return order == std::memory_order_acq_rel   ? std::memory_order_acquire
         : order == std::memory_order_release ? std::memory_order_relaxed
                                              : order;
}

template <typename T>
uint64_t ToWord(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t word = 0;
  memcpy(&word, &value, sizeof(value));
  return word;
}

template <typename T>
T FromWord(uint64_t word) {
  T value;
  memcpy(&value, &word, sizeof(value));
  return value;
}

#define ALLOMON_MODEL_HERE                                                          \
  const char *file = __builtin_FILE(), const char *function = __builtin_FUNCTION(), \
             int line = __builtin_LINE()

// Takes the place of std::atomic.  Valid when all its bytes are zero.
template <typename T>
class Atomic {
 public:
  using Order = std::memory_order;
  static constexpr Order kFull = std::memory_order_seq_cst;

  Atomic() = default;
  constexpr Atomic(T value) : value_(value) {}  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(Order order = kFull, ALLOMON_MODEL_HERE) const {
    return FromWord<T>(Load(&value_, sizeof(T), order, {file, function, line}));
  }
  void store(T value, Order order = kFull, ALLOMON_MODEL_HERE) {
    Store(&value_, sizeof(T), ToWord(value), order, {file, function, line});
  }
  T exchange(T value, Order order = kFull, ALLOMON_MODEL_HERE) {
    return Change(Operation::kExchange, ToWord(value), order, {file, function, line});
  }
  template <typename Number>
  T fetch_add(Number value, Order order = kFull, ALLOMON_MODEL_HERE) {
    return Change(Operation::kAdd, static_cast<uint64_t>(value), order, {file, function, line});
  }
  template <typename Number>
  T fetch_sub(Number value, Order order = kFull, ALLOMON_MODEL_HERE) {
    return Change(Operation::kSubtract, static_cast<uint64_t>(value), order,
                  {file, function, line});
  }
  T fetch_or(T value, Order order = kFull, ALLOMON_MODEL_HERE) {
    return Change(Operation::kOr, ToWord(value), order, {file, function, line});
  }
  T fetch_and(T value, Order order = kFull, ALLOMON_MODEL_HERE) {
    return Change(Operation::kAnd, ToWord(value), order, {file, function, line});
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                               ALLOMON_MODEL_HERE) {
    uint64_t word = ToWord(expected);
    const bool changed = CompareExchange(&value_, sizeof(T), &word, ToWord(desired), success,
                                         failure, {file, function, line});
    if (!changed) expected = FromWord<T>(word);
    return changed;
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = kFull, ALLOMON_MODEL_HERE) {
    return compare_exchange_strong(expected, desired, order, OrderOfFailure(order), file, function,
                                   line);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure,
                             ALLOMON_MODEL_HERE) {
    return compare_exchange_strong(expected, desired, success, failure, file, function, line);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = kFull, ALLOMON_MODEL_HERE) {
    return compare_exchange_strong(expected, desired, order, OrderOfFailure(order), file, function,
                                   line);
  }
  operator T() const { return load(kFull, "", "conversion", 0); }  // NOLINT: as std::atomic
  T operator=(T value) {
    store(value, kFull, "", "assignment", 0);
    return value;
  }

 private:
  T Change(Operation operation, uint64_t operand, Order order, const Where& where) {
    return FromWord<T>(Update(&value_, sizeof(T), operation, operand, order, where));
  }

  alignas(sizeof(T)) T value_{};
};

}  // namespace allomon::model

#endif  // ALLOMON_TESTS_MODEL_MEMORY_ORDER_CHECKER_H_
