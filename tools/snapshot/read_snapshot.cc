#include "tools/snapshot/read_snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace allomon::snapshot {
namespace {

constexpr size_t kMostFields = 64;
// Of all nodes together, so that no sum of sizes, and no difference of two, overflows.
constexpr uint64_t kMostBytes = uint64_t{1} << 62;

// Returns the class that tables show for nodes of a type; nullptr if they show the nodes' names; ""
// for the type's own name in brackets.
const char* ClassOfType(const std::string& type) {
  if (type == "object" || type == "native") return nullptr;
  if (type == "hidden") return "(system)";
  if (type == "code") return "(compiled code)";
  if (type == "closure") return "Function";
  if (type == "regexp") return "RegExp";
  return "";  // the type's own name in brackets
}

class Reader {
 public:
  Reader(JsonScanner* scanner, const ReadOptions& options) : in_(*scanner), options_(options) {}

  absl::StatusOr<Snapshot> Read() {
    if (in_.Peek() == 0 && in_.error().empty()) return Bad("the file is empty");
    if (!ReadAll()) return status_.ok() ? Bad(in_.error()) : status_;
    const absl::Status status = Finish();
    if (!status.ok()) return status;
    return std::move(result_);
  }

 private:
  static absl::Status Bad(const std::string& what) {
    return absl::InvalidArgumentError("no heap snapshot: " + what);
  }

  bool ReadAll() {
    if (!in_.Take('{')) return false;
    if (!in_.TakeIf('}')) {
      do {
        std::string key;
        if (!in_.TakeString(&key) || !in_.Take(':') || !ReadPart(key)) return false;
      } while (in_.TakeIf(','));
      if (!in_.Take('}')) return false;
    }
    return in_.TakeEnd();
  }

  bool ReadPart(const std::string& key) {
    if (key == "snapshot") return ReadMeta();
    if (key == "strings") return ReadStrings();
    if (key != "nodes" && key != "edges") return in_.SkipValue(nullptr);
    if (!meta_.has_value()) return in_.Fail("\"" + key + "\" stands before \"snapshot\"");
    return key == "nodes" ? ReadNodes() : ReadEdges();
  }

  bool ReadMeta() {
    std::string json;
    if (meta_.has_value()) return in_.Fail("\"snapshot\" is there twice");
    if (!in_.SkipValue(&json)) return false;
    auto meta = ParseMeta(json);
    status_ = meta.status();
    if (!meta.ok()) return false;
    meta_ = *std::move(meta);
    return true;
  }

  // Reads an array whose elements are groups of `fields` numbers.
  template <typename Add>
  bool ReadGroups(size_t fields, Add add) {
    std::array<uint64_t, kMostFields> group;
    if (!in_.Take('[')) return false;
    if (in_.TakeIf(']')) return true;
    do {
      for (size_t i = 0; i < fields; ++i) {
        if (i != 0 && !in_.Take(',')) return false;
        if (!in_.TakeNumber(&group[i])) return false;
      }
      if (!add(group)) return false;
    } while (in_.TakeIf(','));
    return in_.Take(']');
  }

  // Reserves room for `count` elements, but not for more than a file of this size can contain.
  template <typename T>
  void Reserve(std::vector<T>* vector, uint64_t count, size_t fields) const {
    const uint64_t most = options_.size_bytes / (2 * fields) + 2;
    vector->reserve(std::min(count + 1, options_.size_bytes == 0 ? 0 : most));
  }

  bool ReadNodes() {
    const Meta::Node& node = meta_->node;
    Snapshot& to = result_;
    if (to.n_nodes() != 0) return in_.Fail("\"nodes\" is there twice");
    Reserve(&to.node_name, meta_->node_count, node.fields);
    Reserve(&to.node_id, meta_->node_count, node.fields);
    Reserve(&to.self_bytes, meta_->node_count, node.fields);
    Reserve(&to.node_class, meta_->node_count, node.fields);
    if (options_.edges) Reserve(&to.first_edge, meta_->node_count, node.fields);
    uint64_t edges = 0;
    uint64_t all_bytes = 0;
    const bool read = ReadGroups(node.fields, [&](const auto& group) {
      if (to.n_nodes() == meta_->node_count) return in_.Fail("more nodes than node_count");
      if (group[node.type] >= node.types.size()) return in_.Fail("an unknown type of node");
      if (group[node.name] >= kNone) return in_.Fail("a string that is not there");
      if (group[node.edge_count] > meta_->edge_count) return in_.Fail("more edges than edge_count");
      if (group[node.self_size] > kMostBytes - all_bytes) {
        return in_.Fail("the nodes are larger than any memory (self_size)");
      }
      all_bytes += group[node.self_size];
      to.node_name.push_back(static_cast<uint32_t>(group[node.name]));
      to.node_id.push_back(group[node.id]);
      to.self_bytes.push_back(group[node.self_size]);
      to.node_class.push_back(static_cast<uint32_t>(group[node.type]));  // the type; NameClasses()
                                                                         // replaces it by the class
      if (options_.edges) to.first_edge.push_back(static_cast<uint32_t>(edges));
      edges += group[node.edge_count];
      return edges <= meta_->edge_count || in_.Fail("more edges than edge_count");
    });
    if (!read) return false;
    if (to.n_nodes() != meta_->node_count) return in_.Fail("fewer nodes than node_count");
    if (edges != meta_->edge_count) return in_.Fail("the nodes have fewer edges than edge_count");
    if (options_.edges) to.first_edge.push_back(static_cast<uint32_t>(edges));
    return true;
  }

  bool ReadEdges() {
    const Meta::Edge& edge = meta_->edge;
    Snapshot& to = result_;
    if (edges_read_) return in_.Fail("\"edges\" is there twice");
    edges_read_ = true;
    FindEdgeTypes();
    if (options_.edges) {
      Reserve(&to.edge_flags, meta_->edge_count, edge.fields);
      Reserve(&to.edge_name, meta_->edge_count, edge.fields);
      Reserve(&to.edge_to, meta_->edge_count, edge.fields);
    }
    const uint64_t node_fields = meta_->node.fields;
    const uint64_t end = meta_->node_count * node_fields;
    uint64_t count = 0;
    const bool read = ReadGroups(edge.fields, [&](const auto& group) {
      if (++count > meta_->edge_count) return in_.Fail("more edges than edge_count");
      if (group[edge.type] >= edge.types.size()) return in_.Fail("an unknown type of edge");
      const uint64_t target = group[edge.to_node];
      if (target >= end) return in_.Fail("an edge to a node that is not there");
      const uint64_t node = target / node_fields;
      if (node * node_fields != target) return in_.Fail("an edge to the middle of a node");
      if (group[edge.name_or_index] >= kNone) return in_.Fail("a string that is not there");
      const uint8_t flags = edge_flags_[group[edge.type]];
      if ((flags & kIndexed) == 0) {
        strings_of_edges_ = std::max(strings_of_edges_, group[edge.name_or_index] + 1);
      }
      if (!options_.edges) return true;
      to.edge_flags.push_back(flags);
      to.edge_name.push_back(static_cast<uint32_t>(group[edge.name_or_index]));
      to.edge_to.push_back(static_cast<uint32_t>(node));
      return true;
    });
    if (!read) return false;
    return count == meta_->edge_count || in_.Fail("fewer edges than edge_count");
  }

  // Sets the flags by type.  A "shortcut" edge repeats a path that other edges form, except an edge
  // of the root, which leads to a global object.
  void FindEdgeTypes() {
    for (const std::string& type : meta_->edge.types) {
      const bool retains = type != "weak" && type != "shortcut";
      const bool indexed = type == "element" || type == "hidden";
      edge_flags_.push_back(static_cast<uint8_t>(
          (retains ? kRetains : 0) | (indexed ? kIndexed : 0) |
          (type == "shortcut" ? kShortcut : 0) | (type == "internal" ? kInternal : 0)));
    }
  }

  bool ReadStrings() {
    if (!result_.string_begin.empty()) return in_.Fail("\"strings\" is there twice");
    result_.string_begin.push_back(0);
    if (!in_.Take('[')) return false;
    if (in_.TakeIf(']')) return true;
    do {
      if (!in_.TakeString(&result_.text)) return false;
      if (result_.string_begin.size() == kNone) return in_.Fail("too many strings");
      result_.string_begin.push_back(result_.text.size());
    } while (in_.TakeIf(','));
    return in_.Take(']');
  }

  // --- Once all parts have been read.

  absl::Status Finish() {
    if (!meta_.has_value()) return Bad("\"snapshot\" is missing");
    if (result_.n_nodes() == 0) return Bad("\"nodes\" is missing");
    if (!edges_read_) return Bad("\"edges\" is missing");
    const auto absent = [this](uint32_t string) {
      return uint64_t{string} + 1 >= result_.string_begin.size();
    };
    if (std::any_of(result_.node_name.begin(), result_.node_name.end(), absent)) {
      return Bad("the name of a node is not among the strings");
    }
    if (strings_of_edges_ + 1 > std::max(result_.string_begin.size(), size_t{1})) {
      return Bad("the name of an edge is not among the strings");
    }
    NameClasses();
    if (options_.edges) {
      FindRootGroups();
      FindRetaining();
    }
    return absl::OkStatus();
  }

  uint32_t NewClass(std::string name, bool synthetic) {
    result_.classes.push_back(std::move(name));
    result_.class_is_synthetic.push_back(synthetic);
    return static_cast<uint32_t>(result_.classes.size() - 1);
  }

  // Replaces the type of each node by its class.  Several strings may have the same text.
  void NameClasses() {
    std::vector<uint32_t> by_type(meta_->node.types.size(), kNone);
    std::vector<uint32_t> by_string(result_.string_begin.size(), kNone);
    for (uint32_t n = 0; n < result_.n_nodes(); ++n) {
      const uint32_t type = result_.node_class[n];
      const std::string& type_name = meta_->node.types[type];
      const char* const fixed = ClassOfType(type_name);
      uint32_t& known = fixed != nullptr ? by_type[type] : by_string[result_.node_name[n]];
      if (known == kNone && fixed != nullptr) {
        known = ClassNamed(*fixed != 0 ? fixed : "(" + type_name + ")", type_name == "synthetic");
      } else if (known == kNone) {
        known = ClassNamed(std::string(result_.String(result_.node_name[n])), false);
      }
      result_.node_class[n] = known;
    }
  }

  uint32_t ClassNamed(const std::string& name, bool synthetic) {
    const auto [found, is_new] = class_by_name_.try_emplace(name, 0);
    if (is_new) found->second = NewClass(name, synthetic);
    return found->second;
  }

  // Finds the groups of roots.  In Allomon's snapshots they are objects without bytes below the
  // root; Chrome's are synthetic.
  void FindRootGroups() {
    for (uint32_t e = 0; e < result_.first_edge[1]; ++e) {
      const uint32_t n = result_.edge_to[e];
      const std::string_view name = result_.String(result_.node_name[n]);
      if (result_.self_bytes[n] != 0 || result_.IsSynthetic(n) || name.substr(0, 1) != "(")
        continue;
      result_.node_class[n] = NewClass(std::string(name), true);
    }
  }

  // Resolves the edges whose flags depend on more than the type.  A value of a WeakMap is held by
  // the key and the map together.  As in DevTools, only the edge from the key counts as retaining.
  void FindRetaining() {
    std::unordered_map<uint32_t, uint64_t> tables;  // id of the table, by string
    for (uint32_t n = 0; n < result_.n_nodes(); ++n) {
      for (uint32_t e = result_.first_edge[n]; e < result_.first_edge[n + 1]; ++e) {
        uint8_t& flags = result_.edge_flags[e];
        if ((flags & kShortcut) != 0 && n == 0) flags |= kRetains;
        if ((flags & kInternal) != 0 && IsOfTable(n, result_.edge_name[e], &tables)) {
          flags &= static_cast<uint8_t>(~kRetains);
        }
        flags &= kRetains | kIndexed;
      }
    }
  }

  // True if an edge of `node` has a name like "1 / part of key (A @3) -> value (B @5) pair in
  // WeakMap (table @7)", and 7 is the id of `node`.
  bool IsOfTable(uint32_t node, uint32_t string, std::unordered_map<uint32_t, uint64_t>* tables) {
    const auto [found, is_new] = tables->try_emplace(string, UINT64_MAX);
    if (is_new) {
      constexpr std::string_view kMark = " pair in WeakMap (table @";
      const std::string_view name = result_.String(string);
      const size_t mark = name.rfind(kMark);
      if (mark != std::string_view::npos && name.find(" / part of key (") != name.npos) {
        found->second =
            strtoull(std::string(name.substr(mark + kMark.size())).c_str(), nullptr, 10);
      }
    }
    return found->second == result_.node_id[node];
  }

  // Flags that only this reader uses.
  static constexpr uint8_t kShortcut = 4;
  static constexpr uint8_t kInternal = 8;

  JsonScanner& in_;
  const ReadOptions& options_;
  std::optional<Meta> meta_;
  std::vector<uint8_t> edge_flags_;  // by type
  bool edges_read_ = false;
  uint64_t strings_of_edges_ = 0;  // number of strings that the names of edges need
  std::unordered_map<std::string, uint32_t> class_by_name_;
  absl::Status status_;
  Snapshot result_;
};

absl::Status CannotRead(const std::string& path, int error) {
  return absl::NotFoundError("cannot read " + path + ": " + strerror(error));
}

}  // namespace

absl::StatusOr<Snapshot> ReadSnapshot(JsonScanner* scanner, const ReadOptions& options) {
  return Reader(scanner, options).Read();
}

absl::StatusOr<Snapshot> ReadSnapshotFile(const std::string& path, const ReadOptions& options,
                                          const JsonScanner::Progress& progress) {
  const int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotRead(path, errno);
  struct stat status = {};
  ReadOptions of_file = options;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    of_file.size_bytes = static_cast<uint64_t>(status.st_size);
  }
  int error = 0;
  JsonScanner scanner(
      [fd, &error](char* to, size_t size) {
        ssize_t got = 0;
        do {
          got = read(fd, to, size);
        } while (got < 0 && errno == EINTR);
        if (got < 0) error = errno;
        return static_cast<int64_t>(got);
      },
      progress);
  absl::StatusOr<Snapshot> snapshot = ReadSnapshot(&scanner, of_file);
  close(fd);
  if (error != 0) return CannotRead(path, error);
  if (snapshot.ok()) return snapshot;
  return absl::InvalidArgumentError(path + ": " + std::string(snapshot.status().message()));
}

}  // namespace allomon::snapshot
