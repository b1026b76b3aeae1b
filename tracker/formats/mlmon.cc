#include "tracker/formats/mlmon.h"

#include <initializer_list>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/formats/line_parser.h"
#include "tracker/formats/scan.h"

namespace allomon {
namespace {

using internal::AppendDecimal;
using internal::ScanResult;

constexpr std::string_view kHeader = "MLton prof";

std::string_view KindName(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::kAlloc:
      return "alloc";
    case ProfileKind::kTime:
      return "time";
    case ProfileKind::kCount:
      return "count";
  }
  return "";
}

std::string_view StyleName(ProfileStyle style) {
  return style == ProfileStyle::kStack ? "stack" : "current";
}

void AppendLine(std::initializer_list<MlmonInt> numbers, std::string* out) {
  char before = '\0';
  for (MlmonInt number : numbers) {
    if (before != '\0') out->push_back(before);
    AppendDecimal(number, out);
    before = ' ';
  }
  out->push_back('\n');
}

void AppendCounts(const std::vector<MlmonCount>& counts, ProfileStyle style, std::string* out) {
  AppendLine({static_cast<MlmonInt>(counts.size())}, out);
  for (const MlmonCount& c : counts) {
    if (style == ProfileStyle::kStack) {
      AppendLine({c.current, c.stack, c.stack_gc}, out);
    } else {
      AppendLine({c.current}, out);
    }
  }
}

class MlmonParser : private internal::LineParser {
 public:
  MlmonParser(std::string_view text, Mlmon* profile, std::string* error)
      : LineParser(text, "unexpected end of mlmon file", error), profile_(profile) {}

  bool Parse() {
    *profile_ = Mlmon();
    return ParseHeader() && ParseKind() && ParseStyle() &&
           ParseMagic("invalid magic", &profile_->magic) && ParseTotals() &&
           ParseCounts(&profile_->splits) && ParseCounts(&profile_->masters);
  }

 private:
  bool ParseHeader() { return NextLine() && (line() == kHeader || Fail("bad header")); }

  bool ParseKind() {
    if (!NextLine()) return false;
    for (ProfileKind kind : {ProfileKind::kAlloc, ProfileKind::kTime, ProfileKind::kCount}) {
      profile_->kind = kind;
      if (line() == KindName(kind)) return true;
    }
    return Fail("invalid profile kind");
  }

  bool ParseStyle() {
    if (!NextLine()) return false;
    for (ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
      profile_->style = style;
      if (line() == StyleName(style)) return true;
    }
    return Fail("invalid profile style");
  }

  bool ParseNumber(std::string_view text, MlmonInt* value) {
    switch (internal::ScanInteger(text, value)) {
      case ScanResult::kOk:
        return true;
      case ScanResult::kNone:
        return Fail("invalid count");
      case ScanResult::kTooBig:
        return Fail("Overflow: a count has more than 127 bits");
    }
    return false;
  }

  bool ParseTotals() {
    if (!NextLine()) return false;
    std::vector<std::string_view> tokens = internal::SpaceTokens(line());
    if (tokens.size() != 2) return Fail("invalid totals");
    return ParseNumber(tokens[0], &profile_->total) && ParseNumber(tokens[1], &profile_->total_gc);
  }

  bool ParseCounts(std::vector<MlmonCount>* counts) {
    uint32_t length = 0;
    if (!ParseLength("counts", &length)) return false;
    ALLOMON_DCHECK("inv.formats.lengths", counts->empty());
    for (uint32_t i = 0; i < length; ++i) {
      if (!NextLine() || !ParseCount(&counts->emplace_back())) return false;
    }
    return true;
  }

  bool ParseCount(MlmonCount* count) {
    if (profile_->style == ProfileStyle::kCurrent) {
      return ParseNumber(line(), &count->current);
    }
    std::vector<std::string_view> tokens = internal::SpaceTokens(line());
    if (tokens.size() != 3) return Fail(StrangeLine());
    return ParseNumber(tokens[0], &count->current) && ParseNumber(tokens[1], &count->stack) &&
           ParseNumber(tokens[2], &count->stack_gc);
  }

  // mlprof drops one character too many here; its message is copied exactly.
  std::string StrangeLine() const {
    std::string message = "strange line: ";
    if (!line().empty()) message.append(line().substr(0, line().size() - 1));
    return message;
  }

  Mlmon* profile_;
};

// False if the sum does not fit.
bool Add(MlmonInt term, MlmonInt* sum) { return !__builtin_add_overflow(*sum, term, sum); }

// The vectors have the same length.
bool AddCounts(const std::vector<MlmonCount>& terms, std::vector<MlmonCount>* sums) {
  ALLOMON_DCHECK_EQ("inv.formats.lengths", terms.size(), sums->size());
  for (size_t i = 0; i < terms.size(); ++i) {
    MlmonCount& sum = (*sums)[i];
    if (!Add(terms[i].current, &sum.current) || !Add(terms[i].stack, &sum.stack) ||
        !Add(terms[i].stack_gc, &sum.stack_gc)) {
      return false;
    }
  }
  return true;
}

// Returns null if the two can be merged, else mlprof's error.
const char* WhyNotMerge(const Mlmon& a, const Mlmon& b) {
  if (a.magic != b.magic) return "wrong magic number";
  if (a.style != b.style) {
    return "cannot merge -profile-stack false with -profile-stack true";
  }
  if (a.masters.size() != b.masters.size() || a.splits.size() != b.splits.size()) {
    return "Vector.map2i";
  }
  if (a.kind != b.kind) return "Kind.merge";
  return nullptr;
}

}  // namespace

std::string FormatMlmon(const Mlmon& profile) {
  std::string out;
  out.reserve(256);  // a short one grows in one piece
  for (std::string_view line : {kHeader, KindName(profile.kind), StyleName(profile.style)}) {
    out.append(line).push_back('\n');
  }
  internal::AppendHexWord(profile.magic, &out);
  out.push_back('\n');
  AppendLine({profile.total, profile.total_gc}, &out);
  AppendCounts(profile.splits, profile.style, &out);
  AppendCounts(profile.masters, profile.style, &out);
  return out;
}

bool ParseMlmon(std::string_view text, Mlmon* profile, std::string* error) {
  return MlmonParser(text, profile, error).Parse();
}

bool MergeMlmon(const Mlmon& other, Mlmon* sum, std::string* error) {
  if (const char* why = WhyNotMerge(*sum, other)) {
    *error = why;
    return false;
  }
  Mlmon merged = *sum;
  if (!Add(other.total, &merged.total) || !Add(other.total_gc, &merged.total_gc) ||
      !AddCounts(other.splits, &merged.splits) || !AddCounts(other.masters, &merged.masters)) {
    *error = "Overflow: a sum of counts has more than 127 bits";
    return false;
  }
  ALLOMON_DCHECK_EQ("inv.formats.lengths", merged.splits.size(), other.splits.size());
  ALLOMON_DCHECK_EQ("inv.formats.lengths", merged.masters.size(), other.masters.size());
  *sum = std::move(merged);
  return true;
}

}  // namespace allomon
