#include "tests/flame/support/profiles.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace allomon::flame {
namespace {

bool IsInlined(const MadeFrame& frame) { return frame.name[0] == '~'; }

std::string KeyOf(const MadeStack& frames) {
  std::string key;
  for (const MadeFrame& frame : frames) {
    key += frame.name + "\t" + frame.file + "\t" + std::to_string(frame.line) + frame.module + "\n";
  }
  return key;
}

// Groups the frames that share one machine frame: a function, and the functions inlined into it.
std::vector<MadeStack> Locations(const MadeStack& stack) {
  std::vector<MadeStack> locations;
  for (const MadeFrame& frame : stack) {
    if (!IsInlined(frame) || locations.empty()) locations.emplace_back();
    locations.back().push_back(frame);
  }
  return locations;
}

}  // namespace

ProfileMaker::ProfileMaker(double rate) {
  profile_.rate = rate;
  profile_.has[0] = profile_.has[1] = profile_.has[2] = profile_.has[3] = true;
  profile_.origin = "recording";
}

void ProfileMaker::Add(const MadeStack& stack, uint64_t size_bytes,
                       const std::array<heap::Amount, heap::kMetrics>& amounts) {
  heap::Sample sample;
  for (const MadeStack& frames : Locations(stack)) {
    sample.stack.insert(sample.stack.begin(), LocationOf(frames));
  }
  sample.size_bytes = size_bytes;
  sample.has_size = true;
  sample.amounts = amounts;
  profile_.samples.push_back(sample);
}

uint32_t ProfileMaker::FunctionOf(const MadeFrame& frame) {
  const auto number = static_cast<uint32_t>(profile_.functions.size());
  const auto [found, is_new] = functions_.emplace(frame.name + "\t" + frame.file, number);
  if (is_new) {
    profile_.functions.push_back({frame.name.substr(IsInlined(frame) ? 1 : 0), "", frame.file, 0});
  }
  return found->second;
}

uint32_t ProfileMaker::MappingOf(const std::string& module) {
  if (module.empty()) return heap::kNone;
  const auto number = static_cast<uint32_t>(profile_.mappings.size());
  const auto [found, is_new] = mappings_.emplace(module, number);
  if (is_new) profile_.mappings.push_back({0, 0, 0, module, ""});
  return found->second;
}

uint32_t ProfileMaker::LocationOf(const MadeStack& frames) {
  const auto number = static_cast<uint32_t>(profile_.locations.size());
  const auto [found, is_new] = locations_.emplace(KeyOf(frames), number);
  if (!is_new) return found->second;
  heap::Location location;
  location.mapping = MappingOf(frames[0].module);
  for (const MadeFrame& frame : frames) {
    location.lines.insert(location.lines.begin(), {FunctionOf(frame), frame.line});
  }
  profile_.locations.push_back(location);
  return number;
}

// ---- The synthetic server

namespace {

constexpr char kLibc[] = "/lib/x86_64-linux-gnu/libc.so.6";
constexpr char kLibstdcxx[] = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
constexpr char kSqlite[] = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
constexpr char kZlib[] = "/lib/x86_64-linux-gnu/libz.so.1";
constexpr double kMiB = 1 << 20;

MadeStack operator+(MadeStack stack, const MadeStack& more) {
  stack.insert(stack.end(), more.begin(), more.end());
  return stack;
}

const MadeStack kMain = {{"_start", "", 0},
                         {"__libc_start_main", "", 0, kLibc},
                         {"main", "server/main.cc", 88},
                         {"server::Server::Run(server::Options const&)", "server/server.cc", 140}};
const MadeStack kWorker = {{"clone3", "", 0, kLibc},
                           {"start_thread", "", 0, kLibc},
                           {"server::WorkerPool::Loop()", "server/worker_pool.cc", 61},
                           {"~std::function<void ()>::operator()() const", "std_function.h", 590},
                           {"server::Connection::OnReadable()", "server/connection.cc", 212}};
const MadeStack kHandle =
    kWorker +
    MadeStack{{"http::Router::Dispatch(http::Request&, http::Response*)", "http/router.cc", 97},
              {"~http::Route::Matches(std::string_view) const", "http/route.h", 44}};
const MadeStack kDispatch =
    kWorker +
    MadeStack{{"http::Router::Dispatch(http::Request&, http::Response*)", "http/router.cc", 104}};
const MadeStack kParse =
    kWorker + MadeStack{{"http::Parser::Feed(char const*, unsigned long)", "http/parser.cc", 180}};
const MadeStack kSearch = kDispatch + MadeStack{{"app::SearchHandler::Handle(http::Request const&)",
                                                 "app/search.cc", 66}};
const MadeStack kQuery =
    kSearch + MadeStack{{"db::Session::Query(std::string const&)", "db/session.cc", 310}};
const MadeStack kStep =
    kQuery + MadeStack{{"sqlite3_step", "", 0, kSqlite}, {"sqlite3VdbeExec", "", 0, kSqlite}};
const MadeStack kTemplate =
    kDispatch +
    MadeStack{{"app::PageHandler::Handle(http::Request const&)", "app/page.cc", 51},
              {"html::Template::Render(json::Value const&) const", "html/template.cc", 233}};
const MadeStack kApi =
    kDispatch + MadeStack{{"app::ApiHandler::Handle(http::Request const&)", "app/api.cc", 120}};
const MadeStack kCache = kApi + MadeStack{{"cache::ShardedCache::Insert(cache::Key, cache::Entry)",
                                           "cache/sharded_cache.cc", 75}};
const MadeStack kNew = {{"operator new(unsigned long)", "new_op.cc", 50, kLibstdcxx}};

MadeStack String(const char* function) {
  return {{std::string("~std::string::") + function, "basic_string.h", 1420},
          {"std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
           "basic_string.tcc", 153, kLibstdcxx}};
}

MadeStack Vector(const std::string& type) {
  return {
      {"std::vector<" + type + ", std::allocator<" + type + "> >::_M_realloc_insert", "vector.tcc",
       439},
      {"~std::allocator_traits<std::allocator<" + type + "> >::allocate", "alloc_traits.h", 464}};
}

// The true amount that a place allocates, and the shares of it that stay live, are live at the
// peak, or are temporary.
struct Site {
  MadeStack stack;
  uint64_t size_bytes;
  double mebibytes;
  double live;
  double peak;
  double temporary;
};

std::vector<Site> Sites(const ServerOptions& options) {
  const double grown = options.cache_growth;
  const MadeStack json = kApi + MadeStack{{"json::Parse(std::string_view)", "json/parser.cc", 512},
                                          {"json::Parser::ParseValue(int)", "json/parser.cc", 301}};
  const MadeStack object =
      json + MadeStack{{"json::Parser::ParseObject(int)", "json/parser.cc", 220}};
  const MadeStack nested =
      object + MadeStack{{"json::Parser::ParseValue(int)", "json/parser.cc", 305},
                         {"json::Parser::ParseArray(int)", "json/parser.cc", 260},
                         {"json::Parser::ParseValue(int)", "json/parser.cc", 301}};
  std::vector<Site> sites = {
      {kMain + MadeStack{{"server::Config::Load(std::string const&)", "server/config.cc", 40}} +
           String("append") + kNew,
       96, 3, 0.9, 0.9, 0.02},
      {kMain +
           MadeStack{{"index::Index::Open(std::string const&)", "index/index.cc", 130},
                     {"index::Segment::ReadTerms(index::Reader*)", "index/segment.cc", 77}} +
           Vector("index::Term") + kNew,
       4096, 140, 0.95, 0.95, 0},
      {kMain +
           MadeStack{{"index::Index::Open(std::string const&)", "index/index.cc", 138},
                     {"index::Segment::ReadPostings(index::Reader*)", "index/segment.cc", 121},
                     {"~index::PostingList::Reserve(unsigned long)", "index/postings.h", 58}} +
           kNew,
       65536, 210, 0.98, 0.98, 0},
      {kParse +
           MadeStack{
               {"http::Headers::Add(std::string_view, std::string_view)", "http/headers.cc", 33}} +
           String("assign") + kNew,
       48, 900, 0.001, 0.004, 0.92},
      {kParse + MadeStack{{"http::Body::Append(std::string_view)", "http/body.cc", 20}} +
           String("append") + kNew,
       2048, 620, 0.002, 0.03, 0.55},
      {kHandle +
           MadeStack{{"std::__detail::_Executor<char const*>::_M_dfs", "regex_executor.tcc", 230}} +
           Vector("std::sub_match<char const*>") + kNew,
       120, 480, 0, 0.0004, 0.99},
      {kStep + MadeStack{{"sqlite3VdbeMemGrow", "", 0, kSqlite},
                         {"sqlite3DbMallocRaw", "", 0, kSqlite},
                         {"sqlite3MemMalloc", "", 0, kSqlite}},
       512, 750, 0.001, 0.006, 0.7},
      {kStep + MadeStack{{"sqlite3PcacheFetch", "", 0, kSqlite},
                         {"pcache1Alloc", "", 0, kSqlite},
                         {"sqlite3MemMalloc", "", 0, kSqlite}},
       4360, 95, 0.8, 0.85, 0},
      {kQuery + MadeStack{{"db::Row::Row(sqlite3_stmt*)", "db/row.cc", 28}} + Vector("db::Column") +
           kNew,
       320, 640, 0.003, 0.05, 0.3},
      {kSearch +
           MadeStack{{"index::Searcher::Score(index::Query const&)", "index/searcher.cc", 402},
                     {"~index::Heap<index::Hit>::Push(index::Hit const&)", "index/heap.h", 61}} +
           Vector("index::Hit") + kNew,
       1024, 1350, 0, 0.09, 0.2},
      {kSearch +
           MadeStack{{"index::Searcher::Snippet(index::Hit const&)", "index/searcher.cc", 455}} +
           String("substr") + kNew,
       240, 530, 0.0005, 0.01, 0.85},
      {kTemplate +
           MadeStack{{"html::Node::Write(html::Output*) const", "html/node.cc", 90},
                     {"html::Node::Write(html::Output*) const", "html/node.cc", 96},
                     {"html::Output::Escape(std::string_view)", "html/output.cc", 41}} +
           String("push_back") + kNew,
       72, 1100, 0, 0.002, 0.97},
      {kTemplate +
           MadeStack{{"html::Output::Grow()", "html/output.cc", 19}, {"realloc", "", 0, kLibc}},
       16384, 860, 0, 0.12, 0.1},
      {object +
           MadeStack{{"json::Object::Insert(std::string, json::Value)", "json/value.cc", 88},
                     {"std::_Rb_tree<std::string, json::Value>::_M_emplace_hint_unique",
                      "stl_tree.h", 2460}} +
           kNew,
       104, 780, 0.01, 0.06, 0.1},
      {nested + MadeStack{{"json::Parser::ParseString()", "json/parser.cc", 150}} +
           String("push_back") + kNew,
       40, 410, 0.01, 0.04, 0.3},
      {nested + Vector("json::Value") + kNew, 256, 330, 0.01, 0.05, 0.2},
      {kCache +
           MadeStack{{"cache::Shard::Put(cache::Key const&, cache::Entry&&)", "cache/shard.cc", 52},
                     {"~cache::Arena::New<cache::Node>", "cache/arena.h", 37}} +
           kNew,
       192, 130 * grown, 0.75, 0.7, 0},
      {kCache +
           MadeStack{
               {"cache::Shard::Put(cache::Key const&, cache::Entry&&)", "cache/shard.cc", 58}} +
           String("assign") + kNew,
       900, 240 * grown, 0.72, 0.66, 0},
      {kCache + MadeStack{{"cache::Shard::Rehash(unsigned long)", "cache/shard.cc", 110},
                          {"calloc", "", 0, kLibc}},
       262144, 96 * grown, 0.5, 0.66, 0},
      {kApi +
           MadeStack{{"app::Session::Remember(http::Request const&)", "app/session.cc", 61},
                     {"app::Audit::Record(std::string)", "app/audit.cc", 29}} +
           String("append") + kNew,
       160, 58, 1, 0.6, 0},
      {kDispatch +
           MadeStack{{"http::Compressor::Write(std::string_view)", "http/compressor.cc", 70},
                     {"deflateInit2_", "", 0, kZlib},
                     {"malloc", "", 0, kLibc}},
       65536, 1600, 0.0005, 0.016, 0.05},
      {kMain +
           MadeStack{{"stats::Exporter::Tick()", "stats/exporter.cc", 31},
                     {"stats::Histogram::Snapshot() const", "stats/histogram.cc", 66}} +
           Vector("unsigned long") + kNew,
       8192, 60, 0, 0.001, 0.6},
      {{{"libjemalloc_stub.so+0x51f0", "", 0, "/opt/plugin/libplugin.so"},
        {"plugin_alloc", "", 0, "/opt/plugin/libplugin.so"}},
       640,
       34,
       0.4,
       0.4,
       0.1},
  };
  if (options.has_indexer) {
    sites.push_back(
        {kMain +
             MadeStack{{"index::Compactor::Merge(index::Segment const&, index::Segment const&)",
                        "index/compactor.cc", 215},
                       {"~index::Buffer::Allocate(unsigned long)", "index/buffer.h", 22}} +
             kNew,
         1 << 20, 420, 0.02, 0.55, 0});
  }
  return sites;
}

double BlockProbability(double size_bytes, double rate) {
  return -std::expm1((std::ceil(size_bytes / 8) + 1) * std::log1p(-rate));
}

// Draws the samples of a site as a recording would.
class Sampler {
 public:
  explicit Sampler(const ServerOptions& options)
      : maker_(options.rate), random_(options.seed), rate_(options.rate) {}

  void Add(const Site& site) {
    const auto size = static_cast<double>(site.size_bytes);
    const double p = BlockProbability(size, rate_);
    const auto part = [&](double share) {
      const auto blocks = static_cast<int>(site.mebibytes * kMiB / size * share);
      const double found = std::binomial_distribution<int>(blocks, p)(random_) / p;
      return heap::Amount{found, found * size};
    };
    maker_.Add(site.stack, site.size_bytes,
               {part(1), part(site.live), part(site.peak), part(site.temporary)});
  }

  // Adds a stack that occurs nowhere else, seen a few times.
  void AddRandom(size_t number) {
    MadeStack stack = kWorker;
    size_t state = number;
    const size_t depth = 6 + random_() % 30;
    for (size_t i = 0; i < depth; ++i) {
      const size_t function = (state % 13) * 37 + i * 11 % 29;
      stack.push_back(
          {"gen::Module" + std::to_string(function % 41) + "::step" + std::to_string(function),
           "gen/module" + std::to_string(function % 41) + ".cc",
           static_cast<uint32_t>(10 + function)});
      state = state / 13 + (state % 13 == 0 ? number % 7 : 0);
    }
    stack.push_back({"gen::leaf" + std::to_string(number % 997), "gen/leaf.cc", 7});
    const double blocks = static_cast<double>(1 + random_() % 20);
    const double size = 16.0 * static_cast<double>(1 + random_() % 40);
    const double scale = 1 / BlockProbability(size, rate_);
    const auto part = [&](double share) {
      return heap::Amount{std::floor(blocks * share) * scale,
                          std::floor(blocks * share) * scale * size};
    };
    maker_.Add(stack, static_cast<uint64_t>(size), {part(1), part(0.3), part(0.5), part(0.4)});
  }

  heap::HeapProfile Take() { return std::move(maker_.profile()); }

 private:
  ProfileMaker maker_;
  std::mt19937_64 random_;
  double rate_;
};

// Start-up, requests with waves, a compaction that makes the peak.
void AddTimeline(double growth, heap::HeapProfile* profile) {
  constexpr int kPoints = 400;
  double most = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const double t = static_cast<double>(i) / kPoints;
    const double startup = 360 * std::min(1.0, t / 0.08);
    const double cache = 330 * growth * std::min(1.0, std::max(0.0, t - 0.06) / 0.5);
    const double waves = 60 * (1 + std::sin(t * 41)) * (t > 0.08 ? 1 : 0);
    const double merge = t > 0.62 && t < 0.66 ? 420 * std::sin((t - 0.62) / 0.04 * 3.14159) : 0;
    const double live = (startup + cache + waves + merge + 58 * t) * kMiB;
    const double allocated =
        (360 * std::min(1.0, t / 0.08) + 11000 * std::max(0.0, t - 0.06)) * kMiB;
    profile->timeline.push_back({t * 84.2, allocated, live, live * 1.01});
    if (live > most) {
      most = live;
      profile->peak_seconds = t * 84.2;
    }
  }
}

}  // namespace

heap::HeapProfile ServerProfile(const ServerOptions& options) {
  Sampler sampler(options);
  for (const Site& site : Sites(options)) sampler.Add(site);
  for (size_t i = 0; i < options.random_stacks; ++i) sampler.AddRandom(i);
  heap::HeapProfile profile = sampler.Take();
  AddTimeline(options.cache_growth, &profile);
  profile.program = "/usr/bin/server";
  profile.command = "server --port=8080 --index=/srv/index";
  profile.pid = 41203;
  profile.start_unix_nanos = 1767225600000000000;
  profile.duration_seconds = 84.2;
  profile.seed = options.seed;
  return profile;
}

}  // namespace allomon::flame
