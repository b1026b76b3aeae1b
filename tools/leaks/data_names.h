// Names the data of a process's programs and libraries: global variables, and the tables of virtual
// functions that tell the types of C++ objects.
#ifndef ALLOMON_TOOLS_LEAKS_DATA_NAMES_H_
#define ALLOMON_TOOLS_LEAKS_DATA_NAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/symbols/code_file.h"

namespace allomon::leaks {

// The process must exist while names are asked for.  A file at a mapped path that is not the mapped
// one names nothing.  One thread.
class DataNames {
 public:
  // Both must outlive this.
  DataNames(const explain::Process& process, const std::vector<explain::Mapping>& mappings,
            const std::string& debug_dir)
      : process_(process), mappings_(mappings), debug_dir_(debug_dir) {}

  struct Object {
    std::string symbol;  // the linker's name
    uint64_t offset_bytes = 0;
    std::string module;  // without folders
  };

  // Returns the object of a symbol table that has the address.  Without one the symbol is empty;
  // the module is empty, too, if the address is in no module's data.
  Object At(uint64_t address);

  // The type of a C++ object that begins with this word; empty if it is no such word.
  std::string TypeOf(uint64_t first_word);

  // The mapping with the address, or nullptr.
  const explain::Mapping* MappingOf(uint64_t address) const;

 private:
  struct Module {
    uint64_t bias = 0;
    std::vector<CodeSymbol> symbols;  // by address; empty: not known
  };

  const Module& ModuleOf(const explain::Mapping& mapping);
  Module Read(const explain::Mapping& mapping) const;
  // The mapped file; nullptr if another one has its path now, and this user may not open it.
  std::unique_ptr<CodeFile> Open(const explain::Mapping& mapping) const;

  const explain::Process& process_;
  const std::vector<explain::Mapping>& mappings_;
  const std::string debug_dir_;
  std::map<std::string, Module> modules_;  // by path
};

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_DATA_NAMES_H_
