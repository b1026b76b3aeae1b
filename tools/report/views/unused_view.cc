#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tools/report/views/unused.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using heap::Metric;

constexpr size_t kMostAdvice = 3;  // lines below each table

std::string BytesText(double bytes) { return AmountText(bytes, false); }

std::string AdviceOf(const RoundedSite& site) {
  return "ask for " + std::to_string(site.smaller_bytes) + " bytes, not " +
         std::to_string(site.size_bytes) + ": saves " + EstimateText(site.saving, false);
}

std::string AdviceOf(const GrownSite& site) {
  const size_t sizes = site.sizes.size();
  return "reserve(n): " + std::to_string(sizes) + " sizes from " + BytesText(site.sizes.front()) +
         " to " + BytesText(site.sizes.back()) + " copied " + EstimateText(site.copied, false) +
         ", with " + BytesText(site.sizes[sizes - 2]) + " held beside the last one meanwhile";
}

// Advice is given from this part of the bytes that a line asks for.
constexpr double kLeastUnusedPercent = 25;

// Means over the blocks of the line.
std::string AdviceOf(const UnusedSite& site) {
  const double blocks = site.asked.amount.blocks, asked = site.asked.amount.bytes;
  const double used = asked - site.unused.amount.bytes;
  return "asks for " + BytesText(asked / blocks) + " a block and uses " + BytesText(used / blocks) +
         ": less saves " + EstimateText(site.unused, false) + ", of which " +
         BytesText(site.untouched_bytes) + " were never resident";
}

bool HasAdvice(const UnusedSite& site) {
  return heap::IsSure(site.unused) &&
         PercentOf(site.unused.amount.bytes, site.asked.amount.bytes) >= kLeastUnusedPercent;
}
bool HasAdvice(const RoundedSite& site) { return site.size_bytes > 0; }
bool HasAdvice(const GrownSite&) { return true; }

class UnusedView {
 public:
  UnusedView(const Scene& scene, Report* report)
      : scene_(scene), report_(*report), grown_(GrowthBySizes(scene)) {
    const std::string& allocator = scene.profile->allocator;
    if (allocator.empty() || allocator == "mimalloc") rounding_ = RoundingOf(scene);
  }

  absl::Status Add() {
    if (!rounding_.has_sizes && rounding_.unknown_bytes > 0) {
      return absl::InvalidArgumentError(
          "no exact sizes of live blocks are known: a recording has them, and pprof files that "
          "this version makes of one (allomon run -- PROGRAM)");
    }
    AddFacts();
    if (scene_.profile->contents.has_value()) AddContents();
    AddTable(RoundingTable(), rounding_.sites, "line");
    AddTable(GrowthTable(), grown_, "line");
    AddNotes();
    return absl::OkStatus();
  }

 private:
  bool HasLive() const { return rounding_.asked.amount.blocks > 0; }

  void AddFacts() {
    const heap::Interval interval = heap::BytesInterval(rounding_.rounding);
    report_.facts.push_back({"rounding", rounding_.rounding.amount.bytes});
    report_.facts.push_back({"rounding_low", interval.low});
    report_.facts.push_back({"rounding_high", interval.high});
    if (!HasLive()) return;
    report_.head.push_back({"size classes add " + EstimateText(rounding_.rounding, false) + " to " +
                                BytesText(rounding_.asked.amount.bytes) + " asked for",
                            Paint::kPlain});
  }

  // Shows the bytes of a process's blocks that were never used.
  void AddContents() {
    const UnusedSum sum = UnusedOf(scene_);
    const heap::Contents& contents = *scene_.profile->contents;
    const heap::Interval interval = heap::BytesInterval(sum.unused);
    const std::pair<const char*, double> facts[] = {{"unused", sum.unused.amount.bytes},
                                                    {"unused_low", interval.low},
                                                    {"unused_high", interval.high},
                                                    {"seen_blocks", contents.seen_blocks},
                                                    {"unseen_blocks", contents.unseen_blocks},
                                                    {"unread_blocks", contents.unread_blocks}};
    for (const auto& [key, value] : facts) report_.facts.push_back({key, value});
    report_.head.push_back({EstimateText(sum.unused, false) + " of " +
                                BytesText(sum.asked.amount.bytes) +
                                " asked for were never used, by the contents of " +
                                Counted(contents.seen_blocks, "block"),
                            Paint::kBold});
    asked_bytes_ = sum.asked.amount.bytes;
    AddTable(ContentsTable(), sum.sites, "line");
    if (contents.unseen_blocks > 0) {
      report_.notes.push_back(Counted(contents.unseen_blocks, "sampled block") +
                              " left out: freed while they were read, or guarded");
    }
    if (contents.unread_blocks > 0) {
      report_.notes.push_back(Counted(contents.unread_blocks, "block") +
                              " not read to the end: swapped, or beyond the first GiB of contents");
    }
  }

  Table ContentsTable() const {
    Table table;
    table.key = "unused_sites";
    AddNameColumns(&table);
    AddAmountColumns(UnusedStyle(), &table);
    AddAmountColumns(AskedStyle(), &table);
    table.columns.push_back({"untouched", "untouched"});
    table.columns.push_back({"zero", "zero at end"});
    table.columns.push_back({"advice", ""});
    return table;
  }

  std::vector<Cell> CellsOf(const UnusedSite& site, size_t columns) const {
    std::vector<Cell> cells;
    AddNameCells(scene_.stacks, site.frame, heap::IsSure(site.unused), &cells);
    AddAmountCells(UnusedStyle(), site.unused, asked_bytes_, &cells);
    AddAmountCells(AskedStyle(), site.asked, asked_bytes_, &cells);
    cells.push_back(NumberCell(BytesText(site.untouched_bytes), site.untouched_bytes));
    cells.push_back(NumberCell(BytesText(site.zero_bytes), site.zero_bytes));
    if (HasAdvice(site)) cells.push_back(DataCell(AdviceOf(site)));
    cells.resize(columns);
    return cells;
  }

  AmountStyle UnusedStyle() const { return StyleOf("unused", "unused", "%", true); }
  AmountStyle StyleOf(const char* key, const char* head, const char* share, bool has_range) const {
    return {key, head, share, false, has_range && scene_.HasIntervals(), kStays};
  }
  AmountStyle RoundingStyle() const { return StyleOf("rounding", "rounding", "%", true); }
  AmountStyle AskedStyle() const { return {"asked", "asked for", "", false, false, kDropTotal}; }
  AmountStyle SavingStyle() const { return StyleOf("saving", "saves", "", false); }
  AmountStyle CopiedStyle() const { return StyleOf("copied", "copied", "", true); }

  Table RoundingTable() const {
    Table table;
    table.key = "rounding_sites";
    AddNameColumns(&table);
    AddAmountColumns(RoundingStyle(), &table);
    AddAmountColumns(AskedStyle(), &table);
    table.columns.push_back({"size_bytes", "now"});
    table.columns.push_back({"smaller_bytes", "ask for"});
    AddAmountColumns(SavingStyle(), &table);
    table.columns.push_back({"advice", ""});
    return table;
  }

  std::vector<Cell> CellsOf(const RoundedSite& site, size_t columns) const {
    std::vector<Cell> cells;
    const bool sure = heap::IsSure(site.rounding);
    AddNameCells(scene_.stacks, site.frame, sure, &cells);
    const double whole = rounding_.asked.amount.bytes + rounding_.rounding.amount.bytes;
    AddAmountCells(RoundingStyle(), site.rounding, whole, &cells);
    AddAmountCells(AskedStyle(), site.asked, whole, &cells);
    if (HasAdvice(site)) {
      const auto size = static_cast<double>(site.size_bytes);
      const auto smaller = static_cast<double>(site.smaller_bytes);
      cells.push_back(NumberCell(std::to_string(site.size_bytes) + " B", size));
      cells.push_back(NumberCell(std::to_string(site.smaller_bytes) + " B", smaller));
      AddAmountCells(SavingStyle(), site.saving, whole, &cells);
      cells.push_back(DataCell(AdviceOf(site)));
    }
    cells.resize(columns);
    return cells;
  }

  Table GrowthTable() const {
    Table table;
    table.key = "growth_sites";
    AddNameColumns(&table);
    table.columns.push_back({"holder", "grows", Column::Kind::kCode});
    AddAmountColumns(CopiedStyle(), &table);
    table.columns.push_back({"sizes", "sizes"});
    table.columns.push_back({"least_bytes", "from"});
    table.columns.push_back({"largest_bytes", "to"});
    table.columns.push_back({"largest_blocks", ""});
    table.columns.push_back({"held_bytes", ""});
    table.columns.push_back({"by_name", ""});
    table.columns.push_back({"advice", ""});
    return table;
  }

  std::vector<Cell> CellsOf(const GrownSite& site, size_t columns) const {
    std::vector<Cell> cells;
    AddNameCells(scene_.stacks, site.frame, heap::IsSure(site.copied), &cells);
    cells.push_back(TextCell(site.holder.empty() ? "a buffer" : site.holder));
    if (site.holder.empty()) cells.back().data = Data();
    AddAmountCells(CopiedStyle(), site.copied, 0, &cells);
    const size_t sizes = site.sizes.size();
    cells.push_back(NumberCell(std::to_string(sizes), static_cast<double>(sizes)));
    cells.push_back(NumberCell(BytesText(site.sizes.front()), site.sizes.front()));
    cells.push_back(NumberCell(BytesText(site.sizes.back()), site.sizes.back()));
    cells.push_back(DataCell(site.largest_blocks));
    cells.push_back(DataCell(site.sizes[sizes - 2]));
    cells.push_back(DataCell(site.is_named));
    cells.push_back(DataCell(AdviceOf(site)));
    cells.resize(columns);
    return cells;
  }

  template <typename Site>
  void AddTable(Table table, const std::vector<Site>& sites, const std::string& what) {
    const size_t columns = table.columns.size();
    const size_t shown = scene_.rows == 0 ? sites.size() : std::min(sites.size(), scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(sites[i], columns));
    if (shown < sites.size()) {
      std::vector<Cell> more = {TextCell(MoreText(sites.size() - shown, what), Paint::kDim)};
      more.resize(columns);
      table.AddRest(std::move(more), sites.size() - shown);
    }
    report_.tables.push_back(std::move(table));
    size_t lines = 0;
    for (const Site& site : sites) {
      if (!HasAdvice(site) || lines++ >= kMostAdvice) continue;
      report_.foot.push_back(
          {NameInText(scene_, site.frame) + ": " + AdviceOf(site), Paint::kPlain});
    }
  }

  void AddNotes() {
    const std::string& allocator = scene_.profile->allocator;
    if (!allocator.empty() && allocator != "mimalloc") {
      report_.notes.push_back("the rounding of this malloc (" + allocator +
                              ") is not known, only that of mimalloc");
    } else if (!HasLive() && rounding_.unknown_bytes <= 0) {
      report_.notes.push_back(
          "nothing of malloc is live: allomon save PID -o FILE copies a profile while memory is");
    }
    const double known = rounding_.asked.amount.bytes;
    const double unknown = PercentOf(rounding_.unknown_bytes, known + rounding_.unknown_bytes);
    if (unknown >= 0.1) {
      report_.notes.push_back(PercentText(unknown) +
                              " of malloc's live bytes are left out: small blocks of an "
                              "interpreter, or blocks of unknown size");
    }
    if (grown_.empty()) return;
    report_.foot.push_back(
        {"copied is an estimate: every byte of a block that one of the next size replaced",
         Paint::kDim});
  }

  const Scene& scene_;
  Report& report_;
  const std::vector<GrownSite> grown_;
  Rounding rounding_;
  double asked_bytes_ = 0;  // of blocks with contents that were seen
};

}  // namespace

absl::Status AddUnused(const Scene& scene, Report* report) {
  if (scene.measure.metric != Metric::kLive || scene.measure.blocks) {
    return absl::InvalidArgumentError(
        "--view=unused is of bytes that are live: leave out --metric and --blocks");
  }
  return UnusedView(scene, report).Add();
}

}  // namespace allomon::views
