#include "tracker/profile/native_functions.h"

#include <utility>

#include "tracker/callstack/managed_functions.h"
#include "tracker/internal/entries.h"

namespace allomon {

NativeFunctions::NativeFunctions() : symbols_(ProcessSymbols::Load()) {}
NativeFunctions::~NativeFunctions() = default;

const NativeFunctions::Function* NativeFunctions::OfStack(uint32_t stack_id) {
  const internal::StackView stack = internal::Stacks().View(stack_id);
  if (stack.depth == 0) return nullptr;
  ManagedFunctionName managed;
  for (uint32_t i = 0; i < stack.depth; ++i) {
    if (FindManagedFunction(stack.frames[i], &managed)) return &OfAddress(stack.frames[i]);
  }
  for (uint32_t i = 0; i < stack.depth; ++i) {
    const Function& function = OfAddress(stack.frames[i]);
    if (function.named) return &function;
  }
  return &OfAddress(stack.frames[0]);
}

const NativeFunctions::Function& NativeFunctions::OfAddress(uintptr_t return_address) {
  const auto found = by_address_.find(return_address);
  if (found != by_address_.end()) return found->second;
  // One less: the call may be the last instruction of its function.
  Symbol symbol = symbols_->Resolve(return_address - 1);
  return by_address_
      .emplace(return_address,
               Function{std::move(symbol.name), std::move(symbol.position), symbol.named})
      .first->second;
}

}  // namespace allomon
