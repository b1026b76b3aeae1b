#include "tracker/profile/write/native_functions.h"

#include <algorithm>
#include <utility>

#include "tracker/callstack/managed_functions.h"

namespace allomon {
namespace {

// Enough for the functions around malloc that one program stacks up; a report cannot see beyond the
// last one.
constexpr uint32_t kMostPlaces = 8;

// SQLite has one unnamed function between a wrapper and malloc, Python's object allocator two.
constexpr uint32_t kMostParts = 3;

// Whether it is one of Rust's v0 names.  Only reports know which of these belong to wrappers.
bool IsMangled(const std::string& name) { return name.rfind("_R", 0) == 0; }

}  // namespace

uint32_t NativeFunctions::ChargedFrame(const ChargedStack& stack) {
  ManagedFunctionName managed;
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (FindManagedFunction(stack.frames[i], &managed)) return i;
  }
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (!OfFrame(stack, i).excluded && !IsPartOfWrapper(stack, i)) return i;
  }
  return 0;
}

bool NativeFunctions::IsPartOfWrapper(const ChargedStack& stack, uint32_t frame) {
  const Function& part = OfFrame(stack, frame);
  if (part.named || !part.in_file) return false;
  const uint32_t end = std::min(stack.depth, frame + 1 + kMostParts);
  for (uint32_t i = frame + 1; i < end; ++i) {
    const Function& caller = OfFrame(stack, i);
    if (!caller.in_file || caller.place.module != part.place.module) return false;
    // Classes and templates call their users' functions, which do not belong to them.
    if (caller.excluded) return caller.name.find("::") == std::string::npos;
    if (caller.named) return false;
  }
  return false;
}

const NativeFunctions::Function& NativeFunctions::OfFrame(const ChargedStack& stack,
                                                          uint32_t frame) {
  return OfAddress(PcOfFrame(stack, frame));
}

std::vector<CodeAddress> NativeFunctions::PlacesFrom(const ChargedStack& stack, uint32_t frame) {
  std::vector<CodeAddress> places;
  const uint32_t end = std::min(stack.depth, frame + kMostPlaces);
  for (uint32_t i = frame; i < end; ++i) {
    const Function& function = OfFrame(stack, i);
    if (!function.in_file) break;
    places.push_back(function.place);
    if (function.named && !IsMangled(function.name)) break;
  }
  return places;
}

void NativeFunctions::FindInStack(const ChargedStack& stack,
                                  const std::function<bool(const Function&)>& found) {
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (found(OfFrame(stack, i))) return;
  }
}

// The pc of a return address is one less, because the call may be the last instruction of its
// function.  A tick's innermost frame is the interrupted instruction itself.
uintptr_t NativeFunctions::PcOfFrame(const ChargedStack& stack, uint32_t frame) const {
  const bool interrupted = frame == 0 && first_ == FirstFrame::kInterrupted;
  return stack.frames[frame] - (interrupted ? 0 : 1);
}

const NativeFunctions::Function& NativeFunctions::OfAddress(uintptr_t pc) {
  const auto found = by_address_.find(pc);
  if (found != by_address_.end()) return found->second;
  if (symbols_ == nullptr) symbols_ = ProcessSymbols::Load();
  Symbol symbol = symbols_->Resolve(pc);
  const bool in_file = symbol.address != 0;
  const uint64_t start = symbol.address - (pc - symbol.function_start);
  const CodeAddress place = {in_file ? ModuleOf(symbol) : 0, start, symbol.address};
  if (!excluded_.has_value()) excluded_.emplace(patterns_);
  const bool excluded = excluded_->Contain(symbol.name);
  return by_address_
      .emplace(pc, Function{std::move(symbol.name), std::move(symbol.position),
                            symbol.function_start, symbol.named, excluded, in_file, place})
      .first->second;
}

uint32_t NativeFunctions::ModuleOf(const Symbol& symbol) {
  const auto number = static_cast<uint32_t>(modules_.size());
  const auto [at, is_new] = module_of_path_.try_emplace(symbol.module, number);
  if (is_new) modules_.push_back({symbol.build_id, symbol.module, symbol.file});
  return at->second;
}

}  // namespace allomon
