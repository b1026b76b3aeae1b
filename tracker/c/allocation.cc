#include "allomon/allocation.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "tracker/base/check.h"
#include "tracker/base/mutex.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/estimate.h"
#include "tracker/symbols/symbols.h"

namespace {

using allomon::ProcessSymbols;
using allomon::Symbol;

allomon_estimate EstimateOf(double value, double probability) {
  allomon::Estimate estimate;
  estimate.Add(value, probability);
  return {estimate.value, estimate.variance};
}

// The module name of an address that no module had when the symbols were read.
constexpr char kUnknown[] = "[unknown]";

allomon::internal::Mutex g_mutex;
// Never destroyed: code that runs at the end of the process may still resolve.
ProcessSymbols* g_symbols ALLOMON_GUARDED_BY(g_mutex) = nullptr;

// Modules may have been loaded since the last call.
Symbol ResolveLocked(uintptr_t address) ALLOMON_REQUIRES(g_mutex) {
  ALLOMON_DCHECK("inv.lock.held", g_mutex.IsHeldForCheck());
  if (g_symbols != nullptr) {
    Symbol symbol = g_symbols->Resolve(address);
    if (symbol.module != kUnknown) return symbol;
  }
  std::unique_ptr<ProcessSymbols> symbols = ProcessSymbols::Load();
  delete g_symbols;
  g_symbols = symbols.release();
  return g_symbols->Resolve(address);
}

// Writes a text with a final 0, cut to the room, which is not 0.
void WriteText(std::string_view what, char* text, size_t room_bytes) {
  const size_t bytes = what.size() < room_bytes ? what.size() : room_bytes - 1;
  ALLOMON_DCHECK_LT("inv.c.text", bytes, room_bytes);
  memcpy(text, what.data(), bytes);
  text[bytes] = '\0';
}

allomon_status WriteName(uintptr_t address, char* text, size_t room_bytes) {
  const allomon::internal::MutexHolder hold(g_mutex);
  const Symbol symbol = ResolveLocked(address);
  if (symbol.module == kUnknown) return ALLOMON_NOT_FOUND;
  WriteText(symbol.name, text, room_bytes);
  return ALLOMON_OK;
}

}  // namespace

allomon_status allomon_allocation_estimate(const allomon_allocation* allocation,
                                           allomon_estimate* blocks, allomon_estimate* bytes) {
  if (allocation == nullptr || blocks == nullptr || bytes == nullptr) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  const auto source = static_cast<allomon::AllocationSource>(allocation->source);
  const uint64_t words = allomon::TrialWords(allocation->size_bytes, source);
  const double probability = allomon::ReportProbability(words, allocation->rate);
  *blocks = EstimateOf(1, probability);
  *bytes = EstimateOf(static_cast<double>(allocation->size_bytes), probability);
  return ALLOMON_OK;
}

allomon_status allomon_function_name(uintptr_t address, char* text, size_t room_bytes) {
  if (text == nullptr || room_bytes == 0) return ALLOMON_INVALID_ARGUMENT;
  try {
    return WriteName(address, text, room_bytes);
  } catch (const std::exception&) {
    return ALLOMON_OUT_OF_MEMORY;
  }
}

allomon_status allomon_source_line(uintptr_t address, char* text, size_t room_bytes,
                                   uint32_t* line) {
  if (text == nullptr || room_bytes == 0) return ALLOMON_INVALID_ARGUMENT;
  allomon::ManagedFunctionName name;
  if (!allomon::FindManagedFunction(address, &name)) return ALLOMON_NOT_FOUND;
  WriteText(name.file, text, room_bytes);
  if (line != nullptr) *line = static_cast<uint32_t>(name.line);
  return ALLOMON_OK;
}
