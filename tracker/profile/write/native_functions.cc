#include "tracker/profile/write/native_functions.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "tracker/callstack/managed_functions.h"
#include "tracker/core/stack_table.h"
#include "tracker/profile/record/recording.h"

namespace allomon {

const NativeFunctions::Function* NativeFunctions::OfStack(uint32_t stack_id) {
  const internal::StackView stack = internal::Stacks().View(stack_id);
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

const NativeFunctions::Function* NativeFunctions::InnermostNamed(const internal::StackView& stack,
                                                                 bool or_excluded) {
  for (uint32_t i = 0; i < stack.depth; ++i) {
    const Function& function = OfAddress(PcOfFrame(stack, i));
    if (function.named && (or_excluded || !function.excluded)) return &function;
  }
  return nullptr;
}

void NativeFunctions::FindInStack(uint32_t stack_id,
                                  const std::function<bool(const Function&)>& found) {
  const internal::StackView stack = internal::Stacks().View(stack_id);
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (found(OfAddress(PcOfFrame(stack, i)))) return;
  }
}

void NativeFunctions::ForEachOfStack(uint32_t stack_id,
                                     const std::function<void(const Function&)>& visit) {
  const internal::StackView stack = internal::Stacks().View(stack_id);
  for (uint32_t i = 0; i < stack.depth; ++i) {
    const Function& function = OfAddress(PcOfFrame(stack, i));
    if (function.named || i == 0) visit(function);
  }
}

// One less than a return address: the call may be the last instruction of its function.
// A tick's innermost frame is the interrupted instruction itself.
uintptr_t NativeFunctions::PcOfFrame(const internal::StackView& stack, uint32_t frame) {
  const bool interrupted =
      frame == 0 && internal::recording.kind.load(std::memory_order_relaxed) == ProfileKind::kTime;
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
