#include "runtime/internal/marshal/marshal_check.h"

#include "tracker/base/check.h"

namespace allomon::gc::internal {
namespace {

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError("unmarshal: " + what);
}

// Makes a name from hostile bytes safe for a message: one line without control characters for a
// terminal.
std::string Shown(std::string_view name) {
  constexpr size_t kMostBytes = 200;
  std::string shown(name.substr(0, kMostBytes));
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x7f) c = '?';
  }
  return shown + (name.size() > kMostBytes ? "..." : "");
}

absl::Status CheckHeader(std::string_view bytes) {
  MarshalHeader header = {};
  if (bytes.size() < sizeof(header.magic) ||
      memcmp(bytes.data(), kMarshalMagic, sizeof(header.magic)) != 0) {
    return Malformed("not a marshalled graph: it does not begin with the magic bytes");
  }
  if (bytes.size() < sizeof(header)) return absl::DataLossError("unmarshal: cut off in the header");
  memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kMarshalVersion || header.zero != 0) {
    return absl::FailedPreconditionError("unmarshal: format version " +
                                         std::to_string(header.version) + ", this reads " +
                                         std::to_string(kMarshalVersion));
  }
  if (header.length_bytes != bytes.size()) {
    return absl::DataLossError("unmarshal: " + std::to_string(header.length_bytes) +
                               " bytes were written, here are " + std::to_string(bytes.size()));
  }
  if (header.checksum != MarshalChecksum(bytes.substr(sizeof(header)))) {
    return absl::DataLossError("unmarshal: the checksum does not fit, the bytes are damaged");
  }
  return absl::OkStatus();
}

class GraphCheck {
 public:
  GraphCheck(std::string_view bytes, const MarshalRegistry& types)
      : end_(bytes.data() + bytes.size()), types_(types), source_(bytes) {}

  absl::StatusOr<CheckedGraph> Check(const TypeInfo* root_type) {
    absl::Status status = CheckTypes();
    if (status.ok()) status = CheckHeads();
    if (status.ok()) status = CheckRoot(root_type);
    if (status.ok()) status = CheckBodies();
    if (!status.ok()) return status;
    return std::move(graph_);
  }

 private:
  // The bytes from the position to the end.
  std::string_view Rest() const { return {end_ - source_.left(), source_.left()}; }

  absl::Status CheckTypes() {
    uint64_t n = 0;
    if (!source_.Number(&n) || n > source_.left()) return Malformed("bad number of types");
    for (; n > 0; --n) {
      const absl::Status status = CheckType();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckType() {
    uint64_t length = 0;
    const char* name = nullptr;
    const char* print = nullptr;
    uint64_t fingerprint = 0;
    if (!source_.Number(&length) || !source_.Take(length, &name) ||
        !source_.Take(sizeof(fingerprint), &print)) {
      return Malformed("bad type table");
    }
    memcpy(&fingerprint, print, sizeof(fingerprint));
    const std::string text(name, length);
    const MarshalRegistry::Type* type = types_.Find(text);
    if (type == nullptr) {
      return absl::FailedPreconditionError("unmarshal: type '" + Shown(text) +
                                           "' is not registered");
    }
    if (type->layout.fingerprint != fingerprint) {
      return absl::FailedPreconditionError("unmarshal: type '" + Shown(text) +
                                           "' has another layout here than where it was written");
    }
    graph_.types.push_back(&type->layout);
    return absl::OkStatus();
  }

  // inv.marshal.bounded: the sum of the shortest possible bodies never exceeds the number of unread
  // bytes, so no length can ask for more memory than there are bytes.
  absl::Status CheckHeads() {
    if (!source_.Number(&graph_.n_objects) || graph_.n_objects > source_.left()) {
      return Malformed("bad number of objects");
    }
    graph_.heads = Rest();
    type_of_.reserve(graph_.n_objects);
    uint64_t body_bytes = 0;
    for (uint64_t i = 0; i < graph_.n_objects; ++i) {
      uint64_t type = 0;
      if (!source_.Number(&type) || type >= graph_.types.size()) {
        return MalformedObject(i, "of an unknown type");
      }
      const MarshalLayout& layout = *graph_.types[type];
      uint64_t length = uint64_t{layout.n_references} + layout.plain_bytes;
      if (layout.type->kind != Kind::kFixed && !source_.Number(&length)) {
        return MalformedObject(i, "without a length");
      }
      if (length > source_.left() || body_bytes + length > source_.left()) {
        return MalformedObject(i, "longer than what is left of the bytes");
      }
      body_bytes += length;
      ALLOMON_DCHECK_LE("inv.marshal.bounded", body_bytes, source_.left());
      type_of_.push_back(static_cast<uint32_t>(type));
    }
    graph_.bodies = Rest();
    return absl::OkStatus();
  }

  absl::Status CheckRoot(const TypeInfo* root_type) {
    if (graph_.n_objects == 0) return absl::OkStatus();
    if (MayReferTo(root_type, graph_.types[type_of_[0]]->type)) return absl::OkStatus();
    return absl::FailedPreconditionError("unmarshal: the root is not of the type asked for");
  }

  absl::Status CheckBodies() {
    MarshalSource heads(graph_.heads);
    met_ = graph_.n_objects == 0 ? 0 : 1;
    for (uint64_t i = 0; i < graph_.n_objects; ++i) {
      const MarshalLayout& layout = *graph_.types[type_of_[i]];
      uint64_t length = 0;
      static_cast<void>(heads.Number(&length));  // reads the type once more
      if (layout.type->kind != Kind::kFixed) static_cast<void>(heads.Number(&length));
      if (i >= met_) return MalformedObject(i, "which no object before it refers to");
      if (!CheckBody(layout, length)) return MalformedObject(i, what_);
    }
    if (source_.left() != 0) return Malformed("bytes behind the last object");
    return absl::OkStatus();
  }

  bool CheckBody(const MarshalLayout& layout, uint64_t length) {
    switch (layout.type->kind) {
      case Kind::kArray:
        for (uint64_t i = 0; i < length; ++i) {
          if (!CheckReference(layout.element)) return false;
        }
        return true;
      case Kind::kBytes:
        return CheckRun({0, 0, false}, length);
      default:
        break;
    }
    for (uint32_t i = 0; i < layout.n_references; ++i) {
      if (!CheckReference(layout.references[i].target)) return false;
    }
    for (uint32_t i = 0; i < layout.n_runs; ++i) {
      if (!CheckRun(layout.runs[i], layout.runs[i].size_bytes)) return false;
    }
    return true;
  }

  bool CheckReference(const TypeInfo* target) {
    uint64_t number = 0;
    if (!source_.Number(&number)) return Fail("whose references are cut off");
    if (IsValueTarget(target)) {
      if (number == 1) return CheckImmediate();
      if (number % 2 != 0) return Fail("with a Value of an unknown kind");
      number /= 2;
    }
    if (number == 0) return true;
    if (number > met_ + 1 || number > graph_.n_objects) return Fail("with a reference out of turn");
    if (number > met_) ++met_;
    const TypeInfo* referred = graph_.types[type_of_[number - 1]]->type;
    return MayReferTo(target, referred) || Fail("with a reference to another type than declared");
  }

  // Null has a number.
  bool CheckImmediate() {
    const char* bytes = nullptr;
    uint64_t word = 0;
    if (!source_.Take(sizeof(word), &bytes)) return Fail("whose bytes are cut off");
    memcpy(&word, bytes, sizeof(word));
    return (word != 0 && IsImmediateWord(word)) || Fail("with a Value that is no number");
  }

  bool CheckRun(const MarshalRun& run, uint64_t size_bytes) {
    const char* bytes = nullptr;
    if (!source_.Take(size_bytes, &bytes)) return Fail("whose bytes are cut off");
    if (!run.is_bool) return true;
    for (uint64_t i = 0; i < size_bytes; ++i) {
      if (static_cast<unsigned char>(bytes[i]) > 1) return Fail("with a bool that is not 0 or 1");
    }
    return true;
  }

  bool Fail(const char* what) {
    what_ = what;
    return false;
  }

  absl::Status MalformedObject(uint64_t index, const char* what) const {
    return Malformed("object " + std::to_string(index + 1) + " of " +
                     std::to_string(graph_.n_objects) + ", " + what);
  }

  const char* const end_;
  const MarshalRegistry& types_;
  MarshalSource source_;
  CheckedGraph graph_;
  Vector<uint32_t> type_of_;  // indexed by object, from 0
  uint64_t met_ = 0;          // number of objects referred to so far
  const char* what_ = "";
};

}  // namespace

absl::StatusOr<CheckedGraph> CheckGraph(std::string_view bytes, const MarshalRegistry& types,
                                        const TypeInfo* root_type) {
  const absl::Status status = CheckHeader(bytes);
  if (!status.ok()) return status;
  return GraphCheck(bytes.substr(sizeof(MarshalHeader)), types).Check(root_type);
}

}  // namespace allomon::gc::internal
