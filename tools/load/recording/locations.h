// Turns frames of several processes into the locations of one profile.  Frames of the same code are
// one location, even if processes loaded the module at different addresses.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_LOCATIONS_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_LOCATIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/load/recording/code_names.h"
#include "tools/load/recording/module_map.h"
#include "tools/load/recording/perf_map.h"
#include "tools/process/places.h"
#include "tools/symbols/code_file.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {

// Describes the process of a recording, to find it while it runs.
process::Description DescriptionOf(const Process& process);

class Locations {
 public:
  // Asks `names`, which must outlive this object, for each address.  With `reads_perf_maps`, names
  // of code that is in no module come from the processes' perf maps.
  Locations(CodeNames* names, bool reads_perf_maps)
      : names_(*names), reads_perf_maps_(reads_perf_maps) {}

  // Returns the locations of a process's nodes, by index of the node; kNone for types.
  std::vector<uint32_t> Add(const Process& process);

  // Returns the location that stands for the missing callers of a truncated stack.
  uint32_t AddCut();

  // Callers call it after the names were looked up.  Sets the profile's locations, functions and
  // mappings, and adds notes on mappings without names.
  void Store(heap::HeapProfile* profile) const;

 private:
  // `file` is the number of a file of code, or one of the values below.
  struct Place {
    uint32_t file;
    uint64_t address;  // in the file; for kNoFile, in the process; for kFunction, a function and a
                       // line
    bool operator==(const Place& other) const {
      return file == other.file && address == other.address;
    }
  };
  static constexpr uint32_t kNoFile = UINT32_MAX;
  static constexpr uint32_t kFunction = UINT32_MAX - 1;  // address: function << 32 | line

  struct Hash {
    size_t operator()(const Place& place) const {
      return (place.address ^ uint64_t{place.file} << 40) * 0x9e3779b97f4a7c15u >> 7;
    }
  };
  struct Mapped {
    uint32_t index;  // index in the profile's mappings
    uint64_t bias;   // in the first process that had it
  };
  using FileNumbers = std::vector<uint32_t>;  // by module

  uint32_t Intern(const Place& place);
  Place PlaceOf(const Process& process, const ModuleMap& modules, const FileNumbers& files,
                const Node& node);
  Place NamedPlace(std::string_view name_file_line);
  Place GeneratedPlace(const Process& process, uint64_t address);
  CodeFrame GeneratedFrame(const Process& process, uint64_t address);
  FileNumbers AddFiles(const Process& process);
  void AddMapping(const ModuleMap::Range& range, uint32_t file);
  heap::Location LocationOf(const Place& place) const;

  CodeNames& names_;
  const bool reads_perf_maps_;
  std::optional<PerfMap> perf_map_;  // of the process being added
  uint32_t running_pid_ = 0;         // the id of that process here; 0: it does not run
  std::vector<Place> places_;
  std::unordered_map<Place, uint32_t, Hash> index_of_;
  std::vector<heap::Mapping> mappings_;
  std::map<uint32_t, Mapped> mapped_;  // by file
  uint64_t name_bytes_ = 0;
  bool has_named_ = false;  // some functions are interpreted or generated
  uint32_t cut_ = kNoFile;  // the location of AddCut(), once it exists
};

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_LOCATIONS_H_
