#include "tracker/callstack/interpreted_code.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"

namespace allomon::internal {
namespace {

constexpr size_t kMaxLines = size_t{1} << 18;
constexpr size_t kMaxTextBytes = size_t{16} << 20;
constexpr size_t kSlots = 2 * kMaxLines;  // so that every search ends
constexpr size_t kKnownPlaces = size_t{1} << 16;
constexpr size_t kGenerations = size_t{1} << 12;
// As for managed functions: the byte before a return address belongs to the function too.
constexpr uintptr_t kCodeBytes = 16;
constexpr uintptr_t kReturnOffset = 8;
// Longer names are cut, so that a recording has room for name, file and line in one text.
constexpr size_t kMostNameBytes = 1024;
constexpr size_t kMostFileBytes = 2048;

// Complete once `text` is set.  A function is its own line with line == first_line.
struct Line {
  std::atomic<const char*> text;  // the name, then the file
  uint32_t function;              // number of the line for the whole function
  uint16_t name_bytes;
  uint16_t file_bytes;
  uint32_t line;
};
static_assert(sizeof(Line) <= 24);

// A place's line, in words that are valid only together: `check` mixes the value and the place.  So
// words of two different entries are not valid.
struct KnownPlace {
  std::atomic<uint64_t> check;
  std::atomic<uint64_t> value;  // generation << 32 | line, or kNoLine
};
constexpr uint32_t kNoLine = UINT32_MAX;

struct Registry {
  char code[kMaxLines * kCodeBytes];
  Line lines[kMaxLines];
  std::atomic<uint32_t> slots[kSlots];  // numbers of lines, plus 1
  KnownPlace places[kKnownPlaces];
  char text[kMaxTextBytes];
};

std::atomic<Registry*> g_registry{nullptr};
std::atomic<size_t> g_lines{0};
std::atomic<size_t> g_text_bytes{0};
std::atomic<uint64_t> g_described{0};
std::atomic<uint64_t> g_lost{0};
std::atomic<uint64_t> g_others{0};
ALLOMON_LARGE_ZEROS std::atomic<uint32_t> g_generations[kGenerations];

// Takes no lock: a thread that comes second unmaps its own registry.
Registry* MakeRegistry() {
  const int saved_errno = errno;
  void* const start = mmap(nullptr, sizeof(Registry), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Registry* made = start == MAP_FAILED ? nullptr : static_cast<Registry*>(start);
  if (made != nullptr) {
    Registry* expected = nullptr;
    const bool writable =
        mprotect(made->lines, sizeof(Registry) - sizeof(made->code), PROT_READ | PROT_WRITE) == 0;
    // Release: a thread that sees the registry may write to it.
    if (!writable ||
        !g_registry.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) {
      munmap(made, sizeof(Registry));
      made = expected;
    }
  }
  errno = saved_errno;
  return made;
}

Registry* GetRegistry() {
  // Pairs with the release in MakeRegistry(): the pages may be written to.
  Registry* const registry = g_registry.load(std::memory_order_acquire);
  return registry != nullptr ? registry : MakeRegistry();
}

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t mixed = (a + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 29 ^ b) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 32;
}

uint64_t HashOf(const char* text, size_t bytes, uint64_t hash) {
  for (; bytes >= sizeof(uint64_t); text += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    hash = Mix(hash, word);
  }
  uint64_t rest = bytes;
  for (; bytes > 0; --bytes) rest = rest << 8 | static_cast<unsigned char>(text[bytes - 1]);
  return Mix(hash, rest);
}

// Takes `size` of `limit` from a counter that only grows.
bool Take(std::atomic<size_t>* counter, size_t size, size_t limit, size_t* start) {
  *start = counter->load(std::memory_order_relaxed);
  do {
    if (size > limit - *start) return false;
  } while (!counter->compare_exchange_weak(*start, *start + size, std::memory_order_relaxed));
  return true;
}

// Returns the length of a text that is cut so that no UTF-8 character is split.
size_t CutTo(const char* text, size_t bytes, size_t most) {
  if (bytes <= most) return bytes;
  while (most > 0 && (text[most] & 0xc0) == 0x80) --most;
  return most;
}

uintptr_t AddressOf(const Registry& registry, uint32_t number) {
  ALLOMON_DCHECK_LT("inv.managed.number", number, kMaxLines);
  return reinterpret_cast<uintptr_t>(registry.code) + number * kCodeBytes + kReturnOffset;
}

// The key of a line that is looked up.
struct Wanted {
  const char* name;
  size_t name_bytes;
  const char* file;
  size_t file_bytes;
  uint32_t line;
  uint32_t function;  // of a line; kNoLine: this is a function, and has a text
};

uint64_t HashOf(const Wanted& wanted) {
  if (wanted.function != kNoLine) return Mix(wanted.function, wanted.line);
  const uint64_t hash = HashOf(wanted.name, wanted.name_bytes, ~uint64_t{wanted.line});
  return HashOf(wanted.file, wanted.file_bytes, hash);
}

bool IsSame(const Line& line, uint32_t number, const Wanted& wanted) {
  if (line.line != wanted.line) return false;
  if (wanted.function != kNoLine) {
    return line.function == wanted.function && number != line.function;
  }
  // Pairs with the release in Make(): the other fields are there.
  const char* const text = line.text.load(std::memory_order_acquire);
  return line.function == number && line.name_bytes == wanted.name_bytes &&
         line.file_bytes == wanted.file_bytes &&
         memcmp(text, wanted.name, wanted.name_bytes) == 0 &&
         memcmp(text + wanted.name_bytes, wanted.file, wanted.file_bytes) == 0;
}

// A new line, or kNoLine.
uint32_t Make(Registry& registry, const Wanted& wanted) {
  size_t number = 0;
  size_t start = 0;
  const bool is_function = wanted.function == kNoLine;
  const size_t text_bytes = is_function ? wanted.name_bytes + wanted.file_bytes : 0;
  if (!Take(&g_text_bytes, text_bytes, kMaxTextBytes, &start) ||
      !Take(&g_lines, 1, kMaxLines, &number)) {
    return kNoLine;
  }
  Line& line = registry.lines[number];
  const char* text = registry.text + start;
  if (is_function) {
    memcpy(registry.text + start, wanted.name, wanted.name_bytes);
    memcpy(registry.text + start + wanted.name_bytes, wanted.file, wanted.file_bytes);
    line.function = static_cast<uint32_t>(number);
    line.name_bytes = static_cast<uint16_t>(wanted.name_bytes);
    line.file_bytes = static_cast<uint16_t>(wanted.file_bytes);
  } else {
    const Line& function = registry.lines[wanted.function];
    ALLOMON_DCHECK_EQ("inv.managed.number", function.function, wanted.function);
    text = function.text.load(std::memory_order_relaxed);
    ALLOMON_DCHECK("inv.managed.text", text != nullptr);
    line.function = wanted.function;
    line.name_bytes = function.name_bytes;
    line.file_bytes = function.file_bytes;
  }
  ALLOMON_DCHECK_LE("inv.managed.text", text + line.name_bytes + line.file_bytes,
                    registry.text + kMaxTextBytes);
  line.line = wanted.line;
  // Pairs with the acquire of those that find the line by its address.
  line.text.store(text, std::memory_order_release);
  return static_cast<uint32_t>(number);
}

// Finds the line, or makes it.  If two threads make the same line at once, both get the one whose
// number was stored first; the other line is left unused.
uint32_t FindOrMake(Registry& registry, const Wanted& wanted) {
  uint32_t made = kNoLine;
  for (uint64_t at = HashOf(wanted);; ++at) {
    std::atomic<uint32_t>& slot = registry.slots[at % kSlots];
    // Acquire pairs with the release of the exchange below: the line is complete.
    uint32_t there = slot.load(std::memory_order_acquire);
    if (there == 0) {
      if (made == kNoLine) made = Make(registry, wanted);
      if (made == kNoLine) return kNoLine;
      // Release: the line is complete. Acquire: so is the one that another thread has put there.
      if (slot.compare_exchange_strong(there, made + 1, std::memory_order_acq_rel)) return made;
    }
    ALLOMON_DCHECK_LE("inv.managed.number", there, kMaxLines);
    if (IsSame(registry.lines[there - 1], there - 1, wanted)) return there - 1;
  }
}

Wanted Named(const char* name, const char* file, uint32_t line) {
  return {name, strlen(name), file, strlen(file), line, kNoLine};
}

uintptr_t Special(const char* name) {
  Registry* const registry = GetRegistry();
  if (registry == nullptr) return 0;
  const uint32_t number = FindOrMake(*registry, Named(name, "", 0));
  return number == kNoLine ? 0 : AddressOf(*registry, number);
}

uintptr_t OtherFrame() {
  g_others.fetch_add(1, std::memory_order_relaxed);
  return Special("(other)");
}

std::atomic<uint32_t>& GenerationOf(uintptr_t code) {
  return g_generations[Mix(code, 0) % kGenerations];
}

uint64_t KeyOf(const CodePlace& place) { return Mix(place.code, place.position); }

void Remember(const CodePlace& place, uint32_t generation, uint32_t line) {
  Registry* const registry = GetRegistry();
  if (registry == nullptr) return;
  const uint64_t key = KeyOf(place);
  const uint64_t value = uint64_t{generation} << 32 | line;
  KnownPlace& known = registry->places[key % kKnownPlaces];
  known.value.store(value, std::memory_order_relaxed);
  known.check.store(key ^ Mix(value, 1), std::memory_order_relaxed);
}

uint32_t LineOf(Registry& registry, const PlaceDescription& what) {
  const Wanted function = {what.name,       CutTo(what.name, what.name_bytes, kMostNameBytes),
                           what.file,       CutTo(what.file, what.file_bytes, kMostFileBytes),
                           what.first_line, kNoLine};
  const uint32_t number = FindOrMake(registry, function);
  if (number == kNoLine || what.line == what.first_line) return number;
  return FindOrMake(registry, {nullptr, 0, nullptr, 0, what.line, number});
}

}  // namespace

uintptr_t FindPlace(const CodePlace& place) {
  Registry* const registry = g_registry.load(std::memory_order_acquire);
  if (registry == nullptr) return 0;
  const uint64_t key = KeyOf(place);
  const KnownPlace& known = registry->places[key % kKnownPlaces];
  const uint64_t check = known.check.load(std::memory_order_relaxed);
  const uint64_t value = known.value.load(std::memory_order_relaxed);
  if (check != (key ^ Mix(value, 1)) || value >> 32 != CodeGeneration(place.code)) return 0;
  const auto line = static_cast<uint32_t>(value);
  return line == kNoLine ? kNoFrame : AddressOf(*registry, line);
}

uint32_t CodeGeneration(uintptr_t code) {
  // Pairs with the release in ForgetCode(): a walk that sees the new number knows no old line.
  return GenerationOf(code).load(std::memory_order_acquire);
}

uintptr_t EnterPlace(const CodePlace& place, uint32_t generation, const PlaceDescription& what) {
  g_described.fetch_add(1, std::memory_order_relaxed);
  Registry* const registry = GetRegistry();
  if (registry == nullptr) return 0;
  const uint32_t line = LineOf(*registry, what);
  if (line == kNoLine) return OtherFrame();
  Remember(place, generation, line);
  return AddressOf(*registry, line);
}

void EnterNoFrame(const CodePlace& place, uint32_t generation) {
  g_described.fetch_add(1, std::memory_order_relaxed);
  Remember(place, generation, kNoLine);
}

// Acquire and release: what was remembered before has the old number.
void ForgetCode(uintptr_t code) { GenerationOf(code).fetch_add(1, std::memory_order_acq_rel); }

uintptr_t LostFrame() {
  g_lost.fetch_add(1, std::memory_order_relaxed);
  return Special("(unknown)");
}

bool IsInterpretedLine(uintptr_t address) {
  // Pairs with the release in MakeRegistry().
  const Registry* const registry = g_registry.load(std::memory_order_acquire);
  return registry != nullptr &&
         address - reinterpret_cast<uintptr_t>(registry->code) < sizeof(registry->code);
}

uint32_t InterpretedLineNumber(uintptr_t address) {
  const Registry* const registry = g_registry.load(std::memory_order_acquire);
  ALLOMON_DCHECK("inv.managed.number", IsInterpretedLine(address));
  return static_cast<uint32_t>((address - reinterpret_cast<uintptr_t>(registry->code)) /
                               kCodeBytes);
}

bool FindInterpretedLine(uintptr_t address, ManagedFunctionName* name) {
  if (!IsInterpretedLine(address)) return false;
  const Registry* const registry = g_registry.load(std::memory_order_acquire);
  const uint32_t number = InterpretedLineNumber(address);
  const Line& line = registry->lines[number];
  // Pairs with the release in Make().
  const char* const text = line.text.load(std::memory_order_acquire);
  if (text == nullptr) return false;
  *name = {{text, line.name_bytes},
           {text + line.name_bytes, line.file_bytes},
           static_cast<int>(line.line),
           AddressOf(*registry, number),
           AddressOf(*registry, line.function)};
  return true;
}

InterpretedCounts CountInterpreted() {
  return {g_lines.load(std::memory_order_relaxed), g_described.load(std::memory_order_relaxed),
          g_lost.load(std::memory_order_relaxed), g_others.load(std::memory_order_relaxed)};
}

}  // namespace allomon::internal
