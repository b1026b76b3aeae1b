#ifndef ALLOMON_TOOLS_MLPROF_PROFILE_VIEW_H_
#define ALLOMON_TOOLS_MLPROF_PROFILE_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/mlmon/program.h"
#include "tracker/formats/mlmon.h"

namespace allomon::mlprof {

// A program and the data of its profiles, if there are any.  Only this class knows which numbers
// belong to which function.  Immutable.  Refers to the program, which must outlive the view.
class ProfileView {
 public:
  // The lengths of `data` must fit `program` (see LoadProfile).
  ProfileView(const Program& program, std::optional<Mlmon> data);

  const Program& program() const { return program_; }

  bool has_data() const { return has_data_; }
  bool has_stack() const { return has_data_ && data_.style == ProfileStyle::kStack; }

  // Meaningful only if there are data.
  ProfileKind kind() const { return data_.kind; }
  MlmonInt total() const { return data_.total; }
  MlmonInt total_gc() const { return data_.total_gc; }

  size_t source_count() const { return program_.table.sources.size(); }
  uint32_t NameIndex(uint32_t source) const { return program_.table.sources[source].name_index; }
  bool IsSplit(uint32_t source) const { return program_.is_split[NameIndex(source)]; }

  // Returns the callees of a source, in the order of the executable's answer.
  const std::vector<uint32_t>& Successors(uint32_t source) const {
    const SourceTable& table = program_.table;
    return table.sequences[table.sources[source].successor_sequence];
  }

  // Returns zeros if there are no data.
  const MlmonCount& SplitCount(uint32_t source) const { return data_.splits[source]; }
  const MlmonCount& MasterCount(uint32_t name) const { return data_.masters[name]; }

  // Returns the count that is shown for a source: its own if the source is split, otherwise that of
  // its name.
  const MlmonCount& CountOfSource(uint32_t source) const;

  // Returns the count as a percentage of both totals together; 0 if both totals are 0.
  double Percent(MlmonInt count) const;

 private:
  const Program& program_;
  const bool has_data_;
  const Mlmon data_;
  const double whole_;
};

// A shown function: a row of the table, a node of the graph.
struct ShownFunction {
  uint32_t name;
  const MlmonCount* count;  // owned by the view
};

struct Selection {
  static constexpr int32_t kHidden = -1;

  // Names first, then split sources, each by index.
  std::vector<ShownFunction> functions;
  // For each source, the index of the function that shows it, or kHidden.
  std::vector<int32_t> function_of_source;
};

// Selects the shown functions.  A split source is shown if it is kept.  A name that is not split is
// shown if any of its sources is kept.  The view must outlive the result.
Selection Select(const ProfileView& view, const std::vector<bool>& kept);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_PROFILE_VIEW_H_
