#include "tracker/profile/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "tracker/profile/function_name.h"
#include "tracker/profile/native_functions.h"

namespace allomon {
namespace {

// Names and sources are one to one: C++ functions have no split copies here.
uint32_t AddFunction(SourceTable* table, std::string name, std::string position) {
  const uint32_t index = static_cast<uint32_t>(table->names.size());
  table->names.push_back({std::move(name), std::move(position)});
  table->sources.push_back({index, kNoSuccessors});
  return index;
}

std::vector<const SourceFunction*> FunctionsById() {
  std::vector<const SourceFunction*> functions(internal::RegisteredFunctionCount() + 1);
  for (SourceFunction* f = internal::RegisteredFunctions(); f != nullptr; f = f->next) {
    if (f->id < functions.size()) functions[f->id] = f;
  }
  return functions;
}

// A registered function's place in the table, behind the fixed entries.
uint32_t IndexOf(uint32_t function_id) { return kMainSource + function_id; }

using BytesByIndex = std::vector<Estimate>;

BytesByIndex SumByFunction(const ProfileData& data, const SourceTable& table) {
  BytesByIndex bytes(table.names.size());
  data.by_function().ForEach([&](uint32_t id, const Estimate& estimate) {
    const uint32_t index = IndexOf(id);
    bytes[index < bytes.size() ? index : uint32_t{kUnknownSource}].Add(estimate);
  });
  data.by_stack().ForEach(
      [&](uint32_t, const Estimate& estimate) { bytes[kMainSource].Add(estimate); });
  return bytes;
}

// Extends the table by every native function that was charged, in the order of their
// names, so that equal runs give equal tables.
BytesByIndex SumBySymbol(const ProfileData& data, SourceTable* table) {
  NativeFunctions native;
  std::map<std::pair<std::string, std::string>, Estimate> by_name;
  Estimate unknown;
  data.by_stack().ForEach([&](uint32_t stack, const Estimate& estimate) {
    const NativeFunctions::Function* function = native.OfStack(stack);
    if (function == nullptr) {
      unknown.Add(estimate);
    } else {
      by_name[{function->name, function->position}].Add(estimate);
    }
  });
  BytesByIndex bytes(table->names.size());
  bytes[kUnknownSource] = unknown;
  for (const auto& [function, estimate] : by_name) {
    AddFunction(table, function.first, function.second);
    bytes.push_back(estimate);
  }
  return bytes;
}

// Whole bytes for each row, and the rounded sum for their total: what one row loses by
// rounding is carried to the next.
Mlmon MakeMlmon(const BytesByIndex& bytes, uint32_t magic) {
  Mlmon mlmon;
  mlmon.magic = magic;
  double sum = 0;
  MlmonInt written = 0;
  for (const Estimate& estimate : bytes) {
    sum += estimate.value;
    MlmonCount count;
    count.current = std::llround(sum) - written;
    written += count.current;
    mlmon.splits.push_back(count);
  }
  mlmon.masters = mlmon.splits;
  mlmon.total_gc = mlmon.splits[kGcSource].current;
  mlmon.total = written - mlmon.total_gc;
  return mlmon;
}

}  // namespace

SourceTable RegisteredSourceTable() {
  SourceTable table = FixedSourceTable();
  for (const SourceFunction* function : FunctionsById()) {
    if (function == nullptr) continue;
    AddFunction(&table, FunctionNameOf(function->signature),
                std::string(function->file) + ": " + std::to_string(function->line));
  }
  table.magic = ContentMagic(table);
  return table;
}

AttributedProfile Attribute(const ProfileData& data) {
  AttributedProfile profile;
  profile.self_described = internal::RegisteredFunctionCount() > 0;
  profile.sources = RegisteredSourceTable();
  const BytesByIndex bytes = profile.self_described ? SumByFunction(data, profile.sources)
                                                    : SumBySymbol(data, &profile.sources);
  profile.sources.magic = ContentMagic(profile.sources);
  profile.mlmon = MakeMlmon(bytes, profile.sources.magic);
  for (const Estimate& estimate : bytes) profile.total.Add(estimate);
  return profile;
}

}  // namespace allomon
