#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/held.h"
#include "tools/heap/labels.h"
#include "tools/heap/missing.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using heap::HeldCell;

constexpr size_t kSentences = 3;
constexpr size_t kStacks = 3;

std::string BytesText(double bytes) { return AmountText(bytes, false); }

struct Holder {
  std::string label;  // of the blocks, as people read it
  uint32_t frame = 0;
  Estimate held;
  double live_bytes = 0;    // of the blocks, each with what its size class adds
  double held_seconds = 0;  // each byte that is held, times the age of the block that does
  double seconds = 0;       // the age of each block
  double in_place = 0;      // sampled blocks
  double best_bytes = -1;
  uint32_t best_stack = 0;  // index in Stacks::stacks; it holds the most

  void Add(const HeldCell& cell, bool is_whole) {
    held.Add(heap::HeldBy(cell, is_whole));
    live_bytes += cell.weight * cell.block_bytes;
    held_seconds += cell.weight * cell.held_bytes * cell.age_seconds;
    seconds += cell.weight * cell.age_seconds;
    in_place += 1;
  }
  double OccupancyPercent() const { return PercentOf(live_bytes, live_bytes + held.amount.bytes); }
  double AgeSeconds() const {
    const double bytes = held.amount.bytes, blocks = held.amount.blocks;
    if (bytes > 0) return held_seconds / bytes;
    return blocks > 0 ? seconds / blocks : 0;
  }
};

class PagesView {
 public:
  PagesView(const Scene& scene, Report* report)
      : scene_(scene),
        pages_(*scene.profile->pages),
        is_whole_(heap::IsWhole(scene.profile->missing, heap::Metric::kLive)),
        report_(*report) {
    for (uint32_t i = 0; i < scene.stacks.stacks.size(); ++i) AddStackOf(i);
    for (const Holder& holder : holders_) sum_.Add(holder.held);
    std::stable_sort(holders_.begin(), holders_.end(), [](const Holder& a, const Holder& b) {
      return a.held.amount.bytes > b.held.amount.bytes;
    });
    for (const Holder& holder : holders_) {
      ALLOMON_DCHECK("inv.report.part", heap::IsPartOf(holder.held, sum_));
    }
  }

  void Add() {
    AddFacts();
    AddHead();
    AddTable();
    AddStacks();
    AddNotes();
  }

 private:
  bool IsByLabel() const { return !scene_.options->by_label.empty(); }

  std::string LabelOf(const heap::Sample& sample) const {
    if (IsByLabel()) return std::string(heap::LabelValue(sample, scene_.options->by_label));
    std::string text;
    for (const heap::Label& label : sample.labels) {
      text += (text.empty() ? "" : ", ") + label.key + "=" + label.value;
    }
    return text;
  }

  void AddStackOf(uint32_t number) {
    const heap::Stack& stack = scene_.stacks.stacks[number];
    const heap::Sample& sample = scene_.SampleOf(stack);
    if (sample.held.empty()) return;
    const std::string label = LabelOf(sample);
    has_labels_ = has_labels_ || !label.empty();
    const uint32_t frame = scene_.stacks.cells[stack.begin];
    const auto [place, is_new] =
        numbers_.try_emplace({IsByLabel() ? heap::kNone : frame, label}, holders_.size());
    if (is_new) holders_.emplace_back().label = label;
    ALLOMON_DCHECK_LT("inv.report.lengths", place->second, holders_.size());
    Holder& holder = holders_[place->second];
    const double before = holder.held.amount.bytes;
    for (const HeldCell& cell : sample.held) holder.Add(cell, is_whole_);
    const double bytes = holder.held.amount.bytes - before;
    if (bytes <= holder.best_bytes) return;
    holder.best_bytes = bytes;
    holder.best_stack = number;
    holder.frame = frame;
  }

  void AddFacts() {
    const heap::Interval interval = heap::BytesInterval(sum_);
    const std::pair<const char*, double> facts[] = {{"free_bytes_in_pages", pages_.free_bytes},
                                                    {"live_bytes_in_pages", pages_.live_bytes},
                                                    {"held", sum_.amount.bytes},
                                                    {"held_low", interval.low},
                                                    {"held_high", interval.high},
                                                    {"blocks_in_place", pages_.in_place_blocks},
                                                    {"unknown_blocks", pages_.unknown_blocks},
                                                    {"without_room", pages_.without_room},
                                                    {"in_place_one_in", pages_.one_in}};
    for (const auto& [key, value] : facts) report_.facts.push_back({key, value});
  }

  void AddHead() {
    const double full = PercentOf(pages_.live_bytes, pages_.live_bytes + pages_.free_bytes);
    report_.head.push_back({"free blocks in pages with live ones: " + BytesText(pages_.free_bytes) +
                                " by the allocator's own walk, the pages are " + PercentText(full) +
                                " full; " + EstimateText(sum_, false) + " by " +
                                Counted(InPlace(), "block") + " in place",
                            Paint::kBold});
    for (size_t i = 0; i < std::min(kSentences, holders_.size()); ++i) {
      const Holder& holder = holders_[i];
      if (!heap::IsSure(holder.held)) break;
      report_.head.push_back({"of which " + EstimateText(holder.held, false) + " beside blocks " +
                                  NameOf(holder) + ", " + report::SecondsText(holder.AgeSeconds()) +
                                  " old, in pages that are " +
                                  PercentText(holder.OccupancyPercent()) + " full",
                              Paint::kPlain});
    }
  }

  double InPlace() const {
    double blocks = 0;
    for (const Holder& holder : holders_) blocks += holder.in_place;
    return blocks;
  }

  // "allocated at Parse(), its file and line", or "of tenant=17, most allocated at ...".
  std::string NameOf(const Holder& holder) const {
    const std::string key = IsByLabel() ? scene_.options->by_label + "=" : "";
    const std::string label = holder.label.empty() ? "" : "of " + key + holder.label + ", most ";
    const std::string place = PlaceOf(scene_.stacks, holder.frame);
    return label + "allocated at " + NameInText(scene_, holder.frame) +
           (place.empty() ? "" : " (" + place + ")");
  }

  AmountStyle HeldStyle() const {
    const bool has_range = pages_.one_in > 1 || scene_.HasIntervals();
    return {"held", "held", "%", false, has_range, kStays};
  }

  void AddTable() {
    Table table;
    table.key = "pages";
    const char* const head = IsByLabel() ? scene_.options->by_label.c_str() : "labels";
    table.columns = {{"label", has_labels_ ? head : "", Column::Kind::kCode}};
    AddNameColumns(&table);
    AddAmountColumns(HeldStyle(), &table);
    table.columns.push_back({"occupancy_percent", "full"});
    table.columns.push_back({"age_seconds", "age"});
    table.columns.push_back({"blocks_in_place", "in place", Column::Kind::kNumber, kDropTotal});
    table.columns.push_back({"live_bytes", ""});
    const size_t columns = table.columns.size();
    const size_t all = holders_.size();
    const size_t shown = scene_.rows == 0 ? all : std::min(all, scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(holders_[i]));
    if (shown < all) {
      std::vector<Cell> more(has_labels_ ? 1 : 2);
      more.back() = TextCell(MoreText(all - shown, "line"), Paint::kDim);
      more.resize(columns);
      table.AddRest(std::move(more), all - shown);
    }
    report_.tables.push_back(std::move(table));
  }

  std::vector<Cell> CellsOf(const Holder& holder) const {
    const bool sure = heap::IsSure(holder.held);
    std::vector<Cell> cells = {TextCell(holder.label)};
    AddNameCells(scene_.stacks, holder.frame, sure, &cells);
    const size_t range = cells.size() + 1;
    AddAmountCells(HeldStyle(), holder.held, pages_.free_bytes, &cells);
    if (holder.held.amount.bytes <= 0) cells[range].shown.clear();  // its pages are full
    const double full = holder.OccupancyPercent(), age = holder.AgeSeconds();
    cells.push_back(NumberCell(PercentText(full), full));
    cells.push_back(NumberCell(report::SecondsText(age), age));
    cells.push_back(NumberCell(AmountText(holder.in_place, true), holder.in_place));
    cells.push_back(DataCell(holder.live_bytes));
    return cells;
  }

  void AddStacks() {
    for (size_t i = 0; i < std::min(kStacks, holders_.size()); ++i) {
      const Holder& holder = holders_[i];
      if (i > 0 && !heap::IsSure(holder.held)) break;
      views::AddStack(scene_, holder.best_stack,
                      BytesText(holder.best_bytes) + " of " + NameInText(scene_, holder.frame) +
                          " held, asked for by",
                      &report_.foot);
    }
    report_.foot.push_back(
        {"each live block of a page holds the same part of its free blocks", Paint::kDim});
  }

  void AddNotes() {
    std::vector<std::string>& notes = report_.notes;
    if (pages_.in_place_blocks <= 0) {
      notes.push_back(
          "no live block is in place: more samples, or a larger share of them "
          "(--in-place=1/4), would tell");
    }
    if (pages_.unknown_blocks > 0) {
      notes.push_back(Counted(pages_.unknown_blocks, "block") +
                      " in place left out: freed while they were read, or not in the recording");
    }
    if (pages_.without_room > 0) {
      notes.push_back(Counted(pages_.without_room, "sample") +
                      " found no room in place, so that more is held than is shown: a lower rate, "
                      "or a smaller share in place, would help");
    }
    const heap::Interval interval = heap::BytesInterval(sum_);
    const bool is_below = interval.high < pages_.free_bytes;
    const heap::Selection& selection = scene_.options->selection;
    const bool is_all =
        selection.labels.empty() && selection.focus.empty() && selection.ignore.empty();
    if (is_all && pages_.in_place_blocks > 0 && is_below) {
      notes.push_back("at least " + BytesText(pages_.free_bytes - interval.high) +
                      " are beside blocks that the recording does not have: allocated before it "
                      "began, or freed by a thread that does not own their page");
    }
  }

  const Scene& scene_;
  const heap::Pages& pages_;
  const bool is_whole_;
  Report& report_;
  std::vector<Holder> holders_;
  std::map<std::pair<uint32_t, std::string>, size_t> numbers_;  // by frame and label
  Estimate sum_;
  bool has_labels_ = false;
};

}  // namespace

absl::Status AddPages(const Scene& scene, Report* report) {
  if (!scene.profile->pages.has_value()) {
    return absl::InvalidArgumentError(
        "which blocks keep pages that are mostly free is known only of a process that runs: "
        "allomon report --view=pages PID");
  }
  PagesView(scene, report).Add();
  return absl::OkStatus();
}

}  // namespace allomon::views
