#include "tracker/recording/call_tree.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tracker/callstack/unloaded_code.h"

namespace allomon::recording {
namespace {

constexpr uint32_t kNodesAtOnce = 1024;

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

// Returns the length of NameWriter's text.
uint32_t LengthOf(const ManagedFunctionName& name) {
  size_t length = name.name.size() + name.file.size() + 3;  // two tabs, and a digit
  for (auto rest = static_cast<uint32_t>(name.line); rest >= 10; rest /= 10) ++length;
  return static_cast<uint32_t>(length < kMostTextBytes ? length : kMostTextBytes);
}

}  // namespace

void CallTree::Begin(SegmentSource* source, WrittenField<uint32_t> count, ModuleTable* modules,
                     TextStore* texts) {
  nodes_.Begin(source, count);
  modules_ = modules;
  texts_ = texts;
}

void CallTree::Clear() {
  nodes_.Clear();
  own_.Clear();
  index_.Clear();
  text_of_function_.Clear();
  text_of_type_.Clear();
}

uint32_t CallTree::NodeOf(const Callstack& stack, SegmentFile* file, Missing* missing) {
  uint32_t parent = 0;
  for (size_t i = stack.size(); i-- > 0;) {
    Node frame = {};
    frame.kind = static_cast<uint8_t>(NodeKind::kReturnAddress);
    frame.address = stack[i];
    frame.parent = parent;
    frame.cut = parent == 0 && stack.cut() ? 1 : 0;
    const uint32_t known = Find(frame);
    parent = known != 0 ? known : AddSlow(frame, file, missing);
    if (parent == 0) return kNoRoom;
  }
  return parent;
}

// Looks up the module or name of a frame only if its address is new among the callees of its
// caller.
uint32_t CallTree::AddSlow(const Node& raw, SegmentFile* file, Missing* missing) {
  const Node frame = FrameOf(raw, file, missing);
  const uint32_t known = Find(frame);
  return known != 0
             ? known
             : WithRoom(file, [&]() ALLOMON_REQUIRES(recorder_lock) { return AddLocked(frame); });
}

uint32_t CallTree::AddLocked(const Node& child) {
  const uint32_t known = Find(child);
  if (known != 0) return known;
  ALLOMON_DCHECK_LE("inv.recording.tree", child.parent, nodes_.size());
  if (!nodes_.Reserve() || !own_.Reserve(nodes_.size() + 1) || !index_.Reserve()) return 0;
  Own& own = own_.At(nodes_.size() + 1);
  own.SetAddress(child.address);
  own.rest = RestOf(child);
  const uint32_t number = nodes_.Add(child);
  CountHeldStep(index_.Insert(number, *this));
  return number;
}

Node CallTree::FrameOf(const Node& raw, SegmentFile* file, Missing* missing) {
  const uintptr_t address = raw.address;
  Node frame = raw;
  if (NameOf(address, file, missing, &frame) || internal::IsUnloadedCode(address)) return frame;
  bool is_known = false;
  uint64_t moved_by = 0;
  for (bool is_settled = false; !is_settled;) {
    ModuleTable::Gone gone;
    // A return address may be the first byte after a module's last function.
    moved_by = modules_->MovedBy(address - 1, file, &gone, &is_known);
    is_settled = gone.end == 0;
    if (!is_settled) Rename(gone);
  }
  frame.address += moved_by;
  if (!is_known) missing->Count(Shortage::kFrames);
  return frame;
}

// A function that is not machine code; the texts hold its name.
bool CallTree::NameOf(uintptr_t address, SegmentFile* file, Missing* missing, Node* frame) {
  ManagedFunctionName name;
  if (!FindManagedFunction(address, &name)) return false;
  const TextRef text = TextOf(name, file);
  if (text.length_bytes == 0) {
    missing->Count(Shortage::kNames);
    return false;
  }
  frame->kind = static_cast<uint8_t>(NodeKind::kNamed);
  frame->address = uint64_t{text.length_bytes} << 32 | text.offset;
  return true;
}

TextRef CallTree::TextOf(const ManagedFunctionName& name, SegmentFile* file) {
  const uint32_t function = internal::ManagedNameNumber(name.address);
  {
    const RecorderHold hold;
    const uint32_t* const known = text_of_function_.Find(function);
    if (known != nullptr && *known != 0) return {*known - 1, LengthOf(name)};
  }
  NameWriter writer;
  writer.Add(name.name);
  writer.AddTab();
  writer.Add(name.file);
  writer.AddTab();
  writer.AddNumber(static_cast<uint32_t>(name.line));
  ALLOMON_DCHECK_EQ("inv.recording.text", writer.length, LengthOf(name));
  const uint32_t place = WithRoom(file, [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
    if (!text_of_function_.Reserve(function)) return 0;
    uint32_t& known = text_of_function_.At(function);
    if (known != 0) return known;
    const TextRef text = texts_->Add(writer.text, writer.length);
    if (text.length_bytes != 0) known = text.offset + 1;
    return known;
  });
  return place == 0 ? TextRef{} : TextRef{place - 1, writer.length};
}

uint32_t CallTree::TypeNodeOf(uint32_t parent, internal::TypeNameId type, SegmentFile* file,
                              Missing* missing) {
  const TextRef text = TextOfType(type, file);
  if (text.length_bytes == 0) {
    missing->Count(Shortage::kNames);
    return parent;
  }
  Node node = {};
  node.kind = static_cast<uint8_t>(NodeKind::kType);
  node.address = uint64_t{text.length_bytes} << 32 | text.offset;
  node.parent = parent;
  const uint32_t known = Find(node);
  if (known != 0) return known;
  const uint32_t added =
      WithRoom(file, [&]() ALLOMON_REQUIRES(recorder_lock) { return AddLocked(node); });
  return added != 0 ? added : kNoRoom;
}

// Empty if there is no room.
TextRef CallTree::TextOfType(internal::TypeNameId type, SegmentFile* file) {
  const char* const name = internal::type_names.At(type);
  const uint64_t length = strnlen(name, kMostTextBytes);
  const uint32_t place = WithRoom(file, [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
    if (!text_of_type_.Reserve(type)) return 0;
    uint32_t& known = text_of_type_.At(type);
    if (known != 0) return known;
    const TextRef text = texts_->Add(name, length);
    if (text.length_bytes != 0) known = text.offset + 1;
    return known;
  });
  return place == 0 ? TextRef{} : TextRef{place - 1, static_cast<uint32_t>(length)};
}

void CallTree::Rename(const ModuleTable::Gone& gone) {
  ALLOMON_DCHECK_LT("inv.recording.module", gone.begin, gone.end);
  uint32_t last = UINT32_MAX;
  for (uint32_t number = 1; number <= last;) {
    const RecorderHold hold;
    if (last == UINT32_MAX) last = nodes_.size();
    const uint32_t end = std::min(last, number + kNodesAtOnce - 1);
    for (; number <= end; ++number) {
      CountHeldStep();
      Own& own = own_.At(number);
      if ((own.rest >> 26 & 3) >= static_cast<uint32_t>(NodeKind::kNamed)) continue;
      const uint64_t address = own.Address();
      if (address - gone.begin > gone.end - gone.begin) continue;
      own.SetAddress(address + gone.by);
      nodes_.At(number)[&Node::address].Store(address + gone.by);
    }
  }
}

}  // namespace allomon::recording
