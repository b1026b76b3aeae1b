#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/snapshot/read_snapshot.h"

namespace allomon::snapshot {
namespace {

using Json = nlohmann::json;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError("no heap snapshot: " + what);
}

// More fields than any writer produces.
constexpr size_t kMostFields = 64;

absl::StatusOr<std::vector<std::string>> Words(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->empty() ||
      found->size() > kMostFields) {
    return Bad(std::string("snapshot.meta has no list ") + name);
  }
  std::vector<std::string> words;
  for (const Json& word : *found) {
    if (!word.is_string()) return Bad(std::string(name) + " is no list of names");
    words.push_back(word.get<std::string>());
  }
  return words;
}

absl::Status Find(const std::vector<std::string>& fields, const char* name, size_t* place) {
  const auto found = std::find(fields.begin(), fields.end(), name);
  if (found == fields.end()) return Bad(std::string("a field ") + name + " is missing");
  *place = static_cast<size_t>(found - fields.begin());
  return absl::OkStatus();
}

// Reads the names of the types: a list at the index of the field "type".
absl::Status FindTypes(const Json& meta, const char* name, size_t place,
                       std::vector<std::string>* types) {
  const auto lists = meta.find(name);
  if (lists == meta.end() || !lists->is_array() || place >= lists->size()) {
    return Bad(std::string("snapshot.meta has no list ") + name);
  }
  auto words = Words(Json{{name, (*lists)[place]}}, name);
  if (!words.ok()) return words.status();
  *types = *std::move(words);
  return absl::OkStatus();
}

absl::Status FindCount(const Json& snapshot, const char* name, uint64_t* count) {
  const auto found = snapshot.find(name);
  if (found == snapshot.end() || !found->is_number_unsigned()) {
    return Bad(std::string("snapshot has no ") + name);
  }
  *count = found->get<uint64_t>();
  return *count < UINT32_MAX ? absl::OkStatus()
                             : Bad(std::string(name) + " is beyond what this command holds");
}

absl::Status ParseNodes(const Json& meta, Meta::Node* node) {
  const auto fields = Words(meta, "node_fields");
  if (!fields.ok()) return fields.status();
  node->fields = fields->size();
  absl::Status status = Find(*fields, "type", &node->type);
  if (status.ok()) status = Find(*fields, "name", &node->name);
  if (status.ok()) status = Find(*fields, "id", &node->id);
  if (status.ok()) status = Find(*fields, "self_size", &node->self_size);
  if (status.ok()) status = Find(*fields, "edge_count", &node->edge_count);
  if (status.ok()) status = FindTypes(meta, "node_types", node->type, &node->types);
  return status;
}

absl::Status ParseEdges(const Json& meta, Meta::Edge* edge) {
  const auto fields = Words(meta, "edge_fields");
  if (!fields.ok()) return fields.status();
  edge->fields = fields->size();
  absl::Status status = Find(*fields, "type", &edge->type);
  if (status.ok()) status = Find(*fields, "name_or_index", &edge->name_or_index);
  if (status.ok()) status = Find(*fields, "to_node", &edge->to_node);
  if (status.ok()) status = FindTypes(meta, "edge_types", edge->type, &edge->types);
  return status;
}

}  // namespace

absl::StatusOr<Meta> ParseMeta(const std::string& json) {
  const Json snapshot = Json::parse(json, nullptr, false);
  if (!snapshot.is_object()) return Bad("\"snapshot\" is no object");
  const auto meta = snapshot.find("meta");
  if (meta == snapshot.end() || !meta->is_object()) return Bad("snapshot has no meta");
  Meta result;
  absl::Status status = ParseNodes(*meta, &result.node);
  if (status.ok()) status = ParseEdges(*meta, &result.edge);
  if (status.ok()) status = FindCount(snapshot, "node_count", &result.node_count);
  if (status.ok()) status = FindCount(snapshot, "edge_count", &result.edge_count);
  if (status.ok() && result.node_count == 0) status = Bad("it has no nodes");
  if (!status.ok()) return status;
  return result;
}

}  // namespace allomon::snapshot
