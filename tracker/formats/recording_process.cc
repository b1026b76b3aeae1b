#include "tracker/formats/recording_process.h"

namespace allomon::recording {

std::string_view Process::TextOf(const TextRef& ref) const {
  const std::string_view all = text;
  if (ref.offset > all.size() || ref.length_bytes > all.size() - ref.offset) return {};
  return all.substr(ref.offset, ref.length_bytes);
}

std::string_view Process::NameOf(const Node& node) const {
  return TextOf({static_cast<uint32_t>(node.address), static_cast<uint32_t>(node.address >> 32)});
}

}  // namespace allomon::recording
