// The numbers of OTLP's fields: opentelemetry-proto 1.11.0, profiles v1development
// (github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/profiles/v1development,
// common/v1, resource/v1).  The contract is alpha: when it changes, this table does, and the names
// in otlp_json.cc.
#ifndef ALLOMON_TOOLS_EXPORT_OTLP_FIELDS_H_
#define ALLOMON_TOOLS_EXPORT_OTLP_FIELDS_H_

#include <cstdint>

namespace allomon::interchange::otlp {

// ProfilesData, and ExportProfilesServiceRequest, which is the same bytes.
enum DataField : uint32_t { kResourceProfiles = 1, kDictionary = 2 };

enum DictionaryField : uint32_t {
  kMappingTable = 1,
  kLocationTable = 2,
  kFunctionTable = 3,
  kLinkTable = 4,
  kStringTable = 5,
  kAttributeTable = 6,
  kStackTable = 7,
};

enum ResourceProfilesField : uint32_t { kResource = 1, kScopeProfiles = 2 };
enum ResourceField : uint32_t { kResourceAttributes = 1 };
enum ScopeProfilesField : uint32_t { kScope = 1, kProfiles = 2 };
enum ScopeField : uint32_t { kScopeName = 1, kScopeVersion = 2 };

enum ProfileField : uint32_t {
  kSampleType = 1,
  kSamples = 2,
  kTimeUnixNano = 3,
  kDurationNano = 4,
  kPeriodType = 5,
  kPeriod = 6,
  kDroppedAttributes = 8,
  kProfileAttributes = 11,
};

enum ValueTypeField : uint32_t { kTypeName = 1, kTypeUnit = 2 };
enum SampleField : uint32_t { kSampleStack = 1, kSampleAttributes = 2, kSampleValues = 4 };
enum StackField : uint32_t { kStackLocations = 1 };
enum LinkField : uint32_t { kTraceId = 1, kSpanId = 2 };

enum MappingField : uint32_t {
  kMappingStart = 1,
  kMappingLimit = 2,
  kMappingOffset = 3,
  kMappingFile = 4,
  kMappingAttributes = 5,
};

enum LocationField : uint32_t { kLocationMapping = 1, kLocationAddress = 2, kLocationLines = 3 };
enum LineField : uint32_t { kLineFunction = 1, kLineNumber = 2 };

enum FunctionField : uint32_t {
  kFunctionName = 1,
  kFunctionSystemName = 2,
  kFunctionFile = 3,
  kFunctionStartLine = 4,
};

enum KeyValueField : uint32_t { kKey = 1, kValue = 2 };
enum KeyValueAndUnitField : uint32_t { kAttributeKey = 1, kAttributeValue = 2, kAttributeUnit = 3 };
enum AnyValueField : uint32_t { kStringValue = 1, kIntValue = 3 };

}  // namespace allomon::interchange::otlp

#endif  // ALLOMON_TOOLS_EXPORT_OTLP_FIELDS_H_
