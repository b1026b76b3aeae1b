// OTLP's JSON is made of the encoded message, so that both forms have the same content.  Enums do
// not occur in profiles; ids are hexadecimal, numbers of 64 bits are texts, and what is not there
// has its default, as in the bytes.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/otlp.h"
#include "tools/export/otlp_fields.h"
#include "tools/pprof/wire.h"

namespace allomon::interchange {
namespace {

using pprof::WireReader;

// kNumber has 32 bits, kLong (signed) and kUnsigned have 64.  kId: bytes of a trace or a span.
enum class Kind { kNumber, kLong, kUnsigned, kFixed64, kText, kId, kMessage };
enum Times { kOnce, kRepeated };

struct Field {
  uint32_t number;
  const char* name;
  Kind kind;
  Times times = kOnce;
  const std::vector<Field>* message = nullptr;  // the fields of a kMessage
};
using Fields = std::vector<Field>;

// Returns the fields of the outermost message.
const Fields& Data() {
  using namespace otlp;  // NOLINT(google-build-using-namespace): the table below is of its names
  constexpr Kind kNumber = Kind::kNumber, kLong = Kind::kLong, kUnsigned = Kind::kUnsigned,
                 kText = Kind::kText, kMessage = Kind::kMessage;
  static const Fields any_value = {{kStringValue, "stringValue", kText},
                                   {kIntValue, "intValue", kLong}};
  static const Fields key_value = {{kKey, "key", kText},
                                   {kValue, "value", kMessage, kOnce, &any_value}};
  static const Fields attribute = {{kAttributeKey, "keyStrindex", kNumber},
                                   {kAttributeValue, "value", kMessage, kOnce, &any_value},
                                   {kAttributeUnit, "unitStrindex", kNumber}};
  static const Fields function = {{kFunctionName, "nameStrindex", kNumber},
                                  {kFunctionSystemName, "systemNameStrindex", kNumber},
                                  {kFunctionFile, "filenameStrindex", kNumber},
                                  {kFunctionStartLine, "startLine", kLong}};
  static const Fields line = {{kLineFunction, "functionIndex", kNumber},
                              {kLineNumber, "line", kLong}};
  static const Fields location = {{kLocationMapping, "mappingIndex", kNumber},
                                  {kLocationAddress, "address", kUnsigned},
                                  {kLocationLines, "lines", kMessage, kRepeated, &line}};
  static const Fields mapping = {{kMappingStart, "memoryStart", kUnsigned},
                                 {kMappingLimit, "memoryLimit", kUnsigned},
                                 {kMappingOffset, "fileOffset", kUnsigned},
                                 {kMappingFile, "filenameStrindex", kNumber},
                                 {kMappingAttributes, "attributeIndices", kNumber, kRepeated}};
  static const Fields link = {{kTraceId, "traceId", Kind::kId}, {kSpanId, "spanId", Kind::kId}};
  static const Fields stack = {{kStackLocations, "locationIndices", kNumber, kRepeated}};
  static const Fields sample = {{kSampleStack, "stackIndex", kNumber},
                                {kSampleAttributes, "attributeIndices", kNumber, kRepeated},
                                {kSampleValues, "values", kLong, kRepeated}};
  static const Fields value_type = {{kTypeName, "typeStrindex", kNumber},
                                    {kTypeUnit, "unitStrindex", kNumber}};
  static const Fields profile = {{kSampleType, "sampleType", kMessage, kOnce, &value_type},
                                 {kSamples, "samples", kMessage, kRepeated, &sample},
                                 {kTimeUnixNano, "timeUnixNano", Kind::kFixed64},
                                 {kDurationNano, "durationNano", kUnsigned},
                                 {kPeriodType, "periodType", kMessage, kOnce, &value_type},
                                 {kPeriod, "period", kLong},
                                 {kDroppedAttributes, "droppedAttributesCount", kNumber},
                                 {kProfileAttributes, "attributeIndices", kNumber, kRepeated}};
  static const Fields scope = {{kScopeName, "name", kText}, {kScopeVersion, "version", kText}};
  static const Fields scope_profiles = {{kScope, "scope", kMessage, kOnce, &scope},
                                        {kProfiles, "profiles", kMessage, kRepeated, &profile}};
  static const Fields resource = {
      {kResourceAttributes, "attributes", kMessage, kRepeated, &key_value}};
  static const Fields resource_profiles = {
      {kResource, "resource", kMessage, kOnce, &resource},
      {kScopeProfiles, "scopeProfiles", kMessage, kRepeated, &scope_profiles}};
  static const Fields dictionary = {
      {kMappingTable, "mappingTable", kMessage, kRepeated, &mapping},
      {kLocationTable, "locationTable", kMessage, kRepeated, &location},
      {kFunctionTable, "functionTable", kMessage, kRepeated, &function},
      {kLinkTable, "linkTable", kMessage, kRepeated, &link},
      {kStringTable, "stringTable", kText, kRepeated},
      {kAttributeTable, "attributeTable", kMessage, kRepeated, &attribute},
      {kStackTable, "stackTable", kMessage, kRepeated, &stack}};
  static const Fields data = {
      {kResourceProfiles, "resourceProfiles", kMessage, kRepeated, &resource_profiles},
      {kDictionary, "dictionary", kMessage, kOnce, &dictionary}};
  return data;
}

std::string Hexadecimal(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

class JsonWriter {
 public:
  std::string Write(std::string_view message) {
    AddMessage(Data(), message);
    return std::move(text_) + "\n";
  }

 private:
  static const Field* Find(const Fields& fields, uint32_t number) {
    for (const Field& field : fields) {
      if (field.number == number) return &field;
    }
    return nullptr;
  }

  // Elements of a list are neighbours in the bytes.
  void AddMessage(const Fields& fields, std::string_view message) {
    text_ += '{';
    const Field* last = nullptr;
    for (WireReader reader(message); reader.Next();) {
      const Field* const field = Find(fields, reader.field());
      if (field == nullptr) continue;
      if (field == last) {
        text_ += ',';
      } else {
        EndList(last);
        if (last != nullptr) text_ += ',';
        text_.append("\"").append(field->name).append("\":");
        if (field->times == kRepeated) text_ += '[';
      }
      AddValue(*field, reader);
      last = field;
    }
    EndList(last);
    text_ += '}';
  }

  void EndList(const Field* field) {
    if (field != nullptr && field->times == kRepeated) text_ += ']';
  }

  void AddValue(const Field& field, const WireReader& reader) {
    switch (field.kind) {
      case Kind::kNumber:
      case Kind::kLong:
      case Kind::kUnsigned:
        return AddNumbers(field.kind, reader);
      case Kind::kFixed64:
        return AddQuoted(std::to_string(reader.fixed64()));
      case Kind::kId:
        return AddQuoted(Hexadecimal(reader.bytes()));
      case Kind::kText:
        text_ += Json(std::string(reader.bytes())).dump();
        return;
      case Kind::kMessage:
        return AddMessage(*field.message, reader.bytes());
    }
  }

  void AddQuoted(const std::string& text) { text_.append("\"").append(text).append("\""); }

  void AddNumbers(Kind kind, const WireReader& reader) {
    std::vector<uint64_t> numbers;
    reader.AppendNumbers(&numbers);
    const char* comma = "";
    for (const uint64_t number : numbers) {
      text_ += comma;
      if (kind == Kind::kNumber) text_ += std::to_string(number);
      if (kind == Kind::kLong) AddQuoted(std::to_string(static_cast<int64_t>(number)));
      if (kind == Kind::kUnsigned) AddQuoted(std::to_string(number));
      comma = ",";
    }
  }

  std::string text_;
};

}  // namespace

std::string OtlpJson(std::string_view message) { return JsonWriter().Write(message); }

}  // namespace allomon::interchange
