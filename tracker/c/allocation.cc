#include "allomon/allocation.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "tracker/base/mutex.h"
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

// Where an address is that no module had when the symbols were read.
constexpr char kUnknown[] = "[unknown]";

allomon::internal::Mutex g_mutex;
// Lives as long as the process: code that runs at its end may ask, too.
ProcessSymbols* g_symbols ALLOMON_GUARDED_BY(g_mutex) = nullptr;

// Modules may have been loaded since the last question.
Symbol ResolveLocked(uintptr_t address) ALLOMON_REQUIRES(g_mutex) {
  if (g_symbols != nullptr) {
    Symbol symbol = g_symbols->Resolve(address);
    if (symbol.module != kUnknown) return symbol;
  }
  std::unique_ptr<ProcessSymbols> symbols = ProcessSymbols::Load();
  delete g_symbols;
  g_symbols = symbols.release();
  return g_symbols->Resolve(address);
}

allomon_status WriteName(uintptr_t address, char* text, size_t room_bytes) {
  const allomon::internal::MutexHolder hold(g_mutex);
  const Symbol symbol = ResolveLocked(address);
  if (symbol.module == kUnknown) return ALLOMON_NOT_FOUND;
  const size_t bytes = symbol.name.size() < room_bytes ? symbol.name.size() : room_bytes - 1;
  memcpy(text, symbol.name.data(), bytes);
  text[bytes] = '\0';
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
