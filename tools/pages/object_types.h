// Reads the types of the Python objects that live blocks of a running process are.
//
// A block does not have its type yet when it is allocated, so a recording does not tell it.  Here
// the type is read from the object, and the name from the type.
#ifndef ALLOMON_TOOLS_PAGES_OBJECT_TYPES_H_
#define ALLOMON_TOOLS_PAGES_OBJECT_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/symbols/name_sources.h"

namespace allomon::pages {

// Tells objects of CPython (3.8 to 3.14, not free-threaded) from other blocks.  It knows no address
// of the interpreter: the first words of an object refer to a type, and the types of types lead to
// one that is its own type, and is named "type".  Other blocks may look so by chance
// with a probability that is small, and objects without a type are not known.  Not thread safe.
class PythonTypes {
 public:
  // False unless all bytes can be read.
  using Read = std::function<bool(uint64_t address, void* to, size_t size_bytes)>;
  explicit PythonTypes(Read read) : read_(std::move(read)) {}

  // Returns "dict", "collections.OrderedDict", "Node"; empty if the block is no object.  Cost: a
  // read, and some ten more for a type that is seen first.
  std::string Of(uint64_t begin, uint64_t size_bytes) {
    return Find(begin, size_bytes, false).type;
  }
  // The same, also for an object that was freed and lies in a list of such ones.
  std::string OfPerhapsFreed(uint64_t begin, uint64_t size_bytes) {
    return Find(begin, size_bytes, true).type;
  }
  // Whether the block is a table of keys and values of a dict (3.11 or later), which is no object.
  bool IsTableOfKeys(uint64_t begin, uint64_t size_bytes) {
    return EntriesOf(begin, size_bytes).end != 0;
  }
  // The words of a block that may refer to other blocks.  Words beyond them are of earlier blocks.
  struct References {
    uint64_t used_bytes = 0;  // at the block's begin
    uint64_t weak_place = 0;  // not 0: of a word that keeps nothing alive
    bool are_data = false;    // the blocks to which they refer hold data, and no references
    // A block to which the word at `items_place` refers, of which only a part is in use.
    uint64_t items_place = 0;  // or 0
    uint64_t items = 0;        // an address in that block
    uint64_t items_begin = 0;  // offsets from `items` on
    uint64_t items_end = 0;
  };
  // Texts and numbers refer to nothing.  A block that is no object is used whole, but for tables of
  // keys.  Cost: that of Of(), and some reads.
  References ReferencesOf(uint64_t begin, uint64_t size_bytes);

  // Returns the name of the attribute whose value is the word at `place`, in the block of the
  // object or of its values.  Returns "" for other words, and if the name is not known.
  std::string AttributeAt(uint64_t begin, uint64_t size_bytes, uint64_t place);

  // Returns the text of an object of the type str; empty unless it has 1 to 64 characters, all of
  // them printable ASCII.  An address of anything else is no error.
  std::string TextOf(uint64_t object);

 private:
  struct Object {
    std::string type;         // empty: it is none
    uint64_t type_place = 0;  // of the type object
    uint64_t place = 0;       // after words of the garbage collector
  };
  bool IsWeakReference(uint64_t type);
  void LimitToItems(const Object& object, uint64_t begin, References* references) const;
  void LimitToValues(uint64_t begin, References* references);
  uint64_t AttributeNamesOf(uint64_t type);
  struct Entries {  // offsets in a table of keys
    bool are_shared = false;
    uint64_t entry_bytes = 0;
    uint64_t first = 0;
    uint64_t end = 0;  // of those in use; 0: the block is no such table
  };
  Entries EntriesOf(uint64_t begin, uint64_t size_bytes) const;
  Object Find(uint64_t begin, uint64_t size_bytes, bool may_be_freed);
  std::string NameOf(uint64_t type);
  std::string ReadNameOf(uint64_t type) const;
  std::string ReadText(uint64_t address) const;
  bool ReadWord(uint64_t address, uint64_t* word) const {
    return read_(address, word, sizeof(*word));
  }

  const Read read_;
  std::unordered_map<uint64_t, std::string> names_;         // by address; empty: no type
  std::unordered_map<uint64_t, uint64_t> attribute_names_;  // tables of keys by type, or 0
};

// Returns the profile of the process's recording, with Sample::type of live blocks that are Python
// objects.  What is live of such a type has a sample of its own, which has no other metrics.
// `process` is its id.  It runs on meanwhile, and no swapped page of it is brought into memory.
// Fails with one line, which names the process and the remedy.
absl::StatusOr<heap::HeapProfile> ReadObjectTypes(const std::string& process,
                                                  const NameSources& name_sources);

}  // namespace allomon::pages

#endif  // ALLOMON_TOOLS_PAGES_OBJECT_TYPES_H_
