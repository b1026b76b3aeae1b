#include "tests/snapshot/snapshot_text.h"

#include <algorithm>
#include <cstring>

#include "tools/snapshot/read_snapshot.h"

namespace allomon::snapshot {
namespace {

constexpr char kHead[] =
    R"({"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],)"
    R"("node_types":[["object","synthetic"],"string","number","number","number"],)"
    R"("edge_fields":["type","name_or_index","to_node"],)"
    R"("edge_types":[["element","property","weak","shortcut","internal"],"string_or_number",)"
    R"("node"]},"node_count":)";

class Strings {
 public:
  size_t Add(const std::string& string) {
    const auto found = std::find(strings_.begin(), strings_.end(), string);
    if (found != strings_.end()) return static_cast<size_t>(found - strings_.begin());
    strings_.push_back(string);
    return strings_.size() - 1;
  }
  std::string Text() const {
    std::string text;
    for (const std::string& string : strings_)
      text += (text.empty() ? "\"" : ",\"") + string + "\"";
    return text;
  }

 private:
  std::vector<std::string> strings_;
};

std::string Row(std::initializer_list<uint64_t> numbers, bool first) {
  std::string text;
  for (const uint64_t number : numbers) text += "," + std::to_string(number);
  return first ? text.substr(1) : text;
}

}  // namespace

std::string TextOf(const TestGraph& graph) {
  Strings strings;
  std::vector<TestEdge> edges = graph.edges;
  std::stable_sort(edges.begin(), edges.end(),
                   [](const TestEdge& a, const TestEdge& b) { return a.from < b.from; });
  std::string text = kHead + std::to_string(graph.nodes.size()) +
                     ",\"edge_count\":" + std::to_string(edges.size()) + "},\n\"nodes\":[";
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const TestGraph::Node& node = graph.nodes[n];
    const auto count = std::count_if(edges.begin(), edges.end(),
                                     [n](const TestEdge& edge) { return edge.from == n; });
    text += Row({node.synthetic ? 1u : 0u, strings.Add(node.name), 2 * n + 1, node.self_bytes,
                 static_cast<uint64_t>(count)},
                n == 0);
  }
  text += "],\n\"edges\":[";
  uint64_t index = 0;
  for (const TestEdge& edge : edges) {
    const uint64_t name = edge.type == kTestElement ? index : strings.Add(edge.name);
    text += Row({static_cast<uint64_t>(edge.type), name, uint64_t{5} * edge.to}, index++ == 0);
  }
  return text + "],\n\"samples\":[],\"strings\":[" + strings.Text() + "]}\n";
}

absl::StatusOr<Snapshot> ReadText(const std::string& text, bool edges) {
  size_t at = 0;
  // Reads in pieces of odd sizes, so that numbers and strings cross their boundaries.
  JsonScanner scanner(
      [&text, &at](char* to, size_t size) {
        const size_t part = std::min({size, text.size() - at, size_t{7}});
        memcpy(to, text.data() + at, part);
        at += part;
        return static_cast<int64_t>(part);
      },
      nullptr);
  ReadOptions options;
  options.edges = edges;
  options.size_bytes = text.size();
  return ReadSnapshot(&scanner, options);
}

}  // namespace allomon::snapshot
