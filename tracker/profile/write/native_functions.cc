#include "tracker/profile/write/native_functions.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "tracker/callstack/managed_functions.h"

namespace allomon {

const NativeFunctions::Function* NativeFunctions::OfStack(const ChargedStack& stack) {
  if (stack.depth == 0) return nullptr;
  ManagedFunctionName managed;
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (FindManagedFunction(stack.frames[i], &managed)) return &OfAddress(stack.frames[i]);
  }
  for (const bool or_excluded : {false, true}) {
    if (const Function* function = InnermostNamed(stack, or_excluded)) return function;
  }
  return &OfAddress(PcOfFrame(stack, 0));
}

const NativeFunctions::Function* NativeFunctions::InnermostNamed(const ChargedStack& stack,
                                                                 bool or_excluded) {
  for (uint32_t i = 0; i < stack.depth; ++i) {
    const Function& function = OfAddress(PcOfFrame(stack, i));
    if (function.named && (or_excluded || !function.excluded)) return &function;
  }
  return nullptr;
}

void NativeFunctions::FindInStack(const ChargedStack& stack,
                                  const std::function<bool(const Function&)>& found) {
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (found(OfAddress(PcOfFrame(stack, i)))) return;
  }
}

void NativeFunctions::ForEachOfStack(const ChargedStack& stack,
                                     const std::function<void(const Function&)>& visit) {
  for (uint32_t i = 0; i < stack.depth; ++i) {
    const Function& function = OfAddress(PcOfFrame(stack, i));
    if (function.named || i == 0) visit(function);
  }
}

// For a return address the pc is one less, because the call may be the last instruction of its
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
  const bool excluded = IsExcluded(symbol.name);
  return by_address_
      .emplace(pc, Function{std::move(symbol.name), std::move(symbol.position),
                            symbol.function_start, symbol.named, excluded})
      .first->second;
}

bool NativeFunctions::IsExcluded(const std::string& name) const {
  for (size_t begin = 0, end; begin < excluded_.size(); begin = end + 1) {
    end = std::min(excluded_.find(',', begin), excluded_.size());
    if (fnmatch(excluded_.substr(begin, end - begin).c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

}  // namespace allomon
