#include "tracker/recording/call_tree.h"

#include <string_view>

#include "tracker/callstack/unloaded_code.h"

namespace allomon::recording {
namespace {

uint64_t HashOf(const Node& node) {
  return Mix(node.address, uint64_t{node.parent} << 16 | uint64_t{node.kind} << 8 | node.cut);
}

bool Same(const Node& a, const Node& b) {
  return a.address == b.address && a.parent == b.parent && a.kind == b.kind && a.cut == b.cut;
}

// Appends to a text of kMostTextBytes.
struct NameWriter {
  char text[kMostTextBytes];
  uint32_t length = 0;

  void Add(std::string_view piece) {
    for (const char c : piece) {
      if (length < sizeof(text)) text[length++] = c == '\t' || c == '\n' ? ' ' : c;
    }
  }
  void AddTab() {
    if (length < sizeof(text)) text[length++] = '\t';
  }
  void AddNumber(uint32_t number) {
    if (number >= 10) AddNumber(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    Add({&digit, 1});
  }
};

// What NameWriter makes of it.
uint32_t LengthOf(const ManagedFunctionName& name) {
  size_t length = name.name.size() + name.file.size() + 3;  // two tabs, and a digit
  for (auto rest = static_cast<uint32_t>(name.line); rest >= 10; rest /= 10) ++length;
  return static_cast<uint32_t>(length < kMostTextBytes ? length : kMostTextBytes);
}

}  // namespace

void CallTree::Begin(SegmentSource* source, uint32_t* count, ModuleTable* modules,
                     TextStore* texts) {
  nodes_.Begin(source, count);
  modules_ = modules;
  texts_ = texts;
}

void CallTree::Clear() {
  nodes_.Clear();
  index_.Clear();
  node_of_stack_.Clear();
  text_of_function_.Clear();
}

uint32_t CallTree::NodeOf(const Callstack& stack) {
  if (stack.empty()) return 0;
  const uint32_t known = node_of_stack_.Get(stack.id());
  if (known != 0) return known;
  const uint32_t node = Enter(stack);
  if (node != kNoRoom && node_of_stack_.Reserve(stack.id())) {
    node_of_stack_.Set(stack.id(), node);
  }
  return node;
}

uint32_t CallTree::Enter(const Callstack& stack) {
  uint32_t parent = 0;
  for (size_t i = stack.size(); i-- > 0;) {
    Node frame = FrameOf(stack[i]);
    frame.parent = parent;
    frame.cut = parent == 0 && stack.cut() ? 1 : 0;
    parent = ChildOf(frame);
    if (parent == 0) return kNoRoom;
  }
  return parent;
}

uint32_t CallTree::ChildOf(const Node& child) {
  const uint64_t hash = HashOf(child);
  const uint32_t known =
      index_.Find(hash, [&](uint32_t number) { return Same(nodes_.At(number), child); });
  if (known != 0 || !index_.Reserve()) return known;
  const uint32_t number = nodes_.Add(child);
  if (number != 0) index_.Insert(hash, number);
  return number;
}

Node CallTree::FrameOf(uintptr_t address) {
  Node frame = {};
  frame.kind = static_cast<uint8_t>(NodeKind::kReturnAddress);
  frame.address = address;
  if (NameOf(address, &frame) || internal::IsUnloadedCode(address)) return frame;
  frame.address = modules_->AddressInNodes(address);
  return frame;
}

// A function that is no machine code: its name stands in the texts.
bool CallTree::NameOf(uintptr_t address, Node* frame) {
  ManagedFunctionName name;
  if (!FindManagedFunction(address, &name)) return false;
  const TextRef text = TextOf(name);
  if (text.length_bytes == 0) return false;
  frame->kind = static_cast<uint8_t>(NodeKind::kNamed);
  frame->address = uint64_t{text.length_bytes} << 32 | text.offset;
  return true;
}

TextRef CallTree::TextOf(const ManagedFunctionName& name) {
  const uint32_t function = internal::ManagedNameNumber(name.address);
  const uint32_t known = text_of_function_.Get(function);
  if (known != 0) return {known - 1, LengthOf(name)};
  if (!text_of_function_.Reserve(function)) return {};
  NameWriter writer;
  writer.Add(name.name);
  writer.AddTab();
  writer.Add(name.file);
  writer.AddTab();
  writer.AddNumber(static_cast<uint32_t>(name.line));
  const TextRef text = texts_->Add(writer.text, writer.length);
  if (text.length_bytes != 0) text_of_function_.Set(function, text.offset + 1);
  return text;
}

void CallTree::Rename(uintptr_t begin, uintptr_t end, uint64_t by) {
  for (uint32_t number = 1; number <= nodes_.size(); ++number) {
    Node& node = nodes_.At(number);
    if (node.kind == static_cast<uint8_t>(NodeKind::kNamed)) continue;
    if (node.address - begin <= end - begin) node.address += by;
  }
}

}  // namespace allomon::recording
