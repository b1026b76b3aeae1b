// A random program on a graph of managed objects, compared with a plain model of the graph.
//
// For one attached thread.
#ifndef ALLOMON_TESTS_RUNTIME_MODEL_PROGRAM_H_
#define ALLOMON_TESTS_RUNTIME_MODEL_PROGRAM_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "tests/runtime/model_objects.h"
#include "tracker/tracker.h"

namespace allomon::gc::testing {

// One thread's graph.  Each operation completes everything that may throw before it changes the
// model.
class Program {
 public:
  Program(Heap* heap, Market* market, Finalized* finalized, uint64_t seed, bool marks_in_slices)
      : heap_(heap),
        market_(market),
        finalized_(finalized),
        random_(seed),
        marks_in_slices_(marks_in_slices),
        next_id_(seed << 32) {
    while (!table_) Try([this] { table_ = make_array<Ephemeron<Node, Node>>(kPairs); });
    while (!map_) Try([this] { map_ = make_weak_map<Node, Node>(); });
    for (size_t i = 0; i < kRoots; ++i) {
      while (models_[i] < 0) Try([this, i] { Create(i); });
    }
  }

  void Step(bool trackers) {
    Try([this, trackers] {
      if (trackers && Pick(500) == 0) return ToggleTracker();
      StepOnce();
    });
  }

  // Runs `call`.  A callback may throw at any safepoint.
  template <typename Call>
  void Try(Call call) {
    try {
      call();
    } catch (const Interrupted&) {
      ++interrupted_;
    }
  }

  void StepOnce() {
    const size_t i = Pick(kRoots);
    switch (Pick(26)) {
      case 0:
      case 1:
        return Create(i);
      case 2:
        return Link(i, Pick(kRoots));
      case 3:
        return Fill(i);
      case 4:
        return Store(i, Pick(kRoots));
      case 5:
        return Write(i);
      case 6:
        return Descend(i);
      case 8:
        return Publish(i);
      case 9:
      case 10:
        return Take(i);
      case 11:
        return Pair(i, Pick(kRoots));
      case 12:
        return SetPair(i);
      case 13:
      case 14:
        return ReadPair(i);
      case 15:
        return Chain(i);
      case 16:
        return LosePair();
      case 17:
        return Finalize(i);
      case 18:
      case 19:
        return SetInMap(i, Pick(kRoots));
      case 20:
        return ChainInMap(i);
      case 21:
        return LookIntoMap(i);
      case 22:
        return EraseFromMap(i);
      case 23:
        return TakeFromMap(i);
      case 24:
        return Slice(i);
      case 25:
        return Pick(2) == 0 ? Copy(i, Pick(kRoots)) : FillPart(i, Pick(kRoots));
      default:  // 7
        roots_[i]->left = nullptr;
        shadow(i).left = -1;
    }
  }

  // Walks both graphs in parallel for a bounded number of steps.
  void Compare(size_t i) {
    Local<Node> node = roots_[i];
    int model = models_[i];
    for (int steps = 0; node && steps < 50; ++steps) {
      const Shadow& expected = shadows_[static_cast<size_t>(model)];
      ASSERT_EQ(node->id, expected.id);
      market_->Compare(node->shared, expected.shared);
      ASSERT_EQ(node->text ? std::string(node->text->view()) : "", expected.text);
      ASSERT_EQ(node->many ? node->many->length() : 0, expected.many.size());
      for (size_t k = 0; k < expected.many.size(); ++k) {
        const int child = expected.many[k];
        ASSERT_EQ(static_cast<bool>(node->many->at(k)), child >= 0);
        if (child < 0) continue;
        ASSERT_EQ(node->many->at(k)->id, shadows_[static_cast<size_t>(child)].id);
      }
      ASSERT_EQ(static_cast<bool>(node->left), expected.left >= 0);
      model = expected.left;
      node = node->left;
    }
  }

  void CompareAll() {
    for (size_t i = 0; i < kRoots; ++i) Compare(i);
    ComparePairs(false);
  }

  // Checks that nodes reachable in the model have not been finalized, and are still the keys of
  // their ephemerons, with the values.  `exactly`: ephemerons with unreachable keys have been
  // cleared.
  void ComparePairs(bool exactly) {
    const std::vector<bool> reachable = Reachable();
    for (size_t k = 0; k < shadows_.size(); ++k) {
      if (shadows_[k].has_finalizer && reachable[k]) {
        ASSERT_FALSE(finalized_->Has(shadows_[k].id)) << k;
      }
    }
    CompareMap(reachable, exactly);
    for (size_t k = 0; k < kPairs; ++k) {
      const PairModel& model = pairs_[k];
      if (model.key < 0 || !reachable[static_cast<size_t>(model.key)]) {
        if (exactly && pair_at(k)) {
          ASSERT_FALSE((key_of<Node, Node>(pair_at(k)))) << k;
        }
        continue;
      }
      const Local<Node> key = key_of<Node, Node>(pair_at(k));
      const Local<Node> value = value_of<Node, Node>(pair_at(k));
      ASSERT_TRUE(key) << "pair " << k << " was cleared, whose key is reachable";
      ASSERT_EQ(key->id, shadows_[static_cast<size_t>(model.key)].id);
      ASSERT_EQ(static_cast<bool>(value), model.value >= 0);
      if (value) {
        ASSERT_EQ(value->id, shadows_[static_cast<size_t>(model.value)].id);
      }
    }
  }

  static constexpr size_t kRoots = 40;
  static constexpr size_t kPairs = 2048;

  struct PairModel {
    int key = -1;
    int value = -1;
  };

  // Checks that a reachable key has its entry in the WeakMap, and each entry the value of the
  // model. Forgets the model's entries whose keys have been found dead.
  void CompareMap(const std::vector<bool>& reachable, bool exactly) {
    std::unordered_map<int, int> found;
    const std::vector<Local<Node>> keys = KeysOfMap();
    for (const Local<Node>& key : keys) {
      const int key_model = map_keys_.at(key->id);
      ASSERT_TRUE(map_models_.count(key_model)) << "an erased entry is back";
      const int value_model = map_models_[key_model];
      ASSERT_TRUE(map_->has(key));
      const Local<Node> value = map_->get(key);
      ASSERT_EQ(static_cast<bool>(value), value_model >= 0);
      if (value) {
        ASSERT_EQ(value->id, shadows_[static_cast<size_t>(value_model)].id);
      }
      ASSERT_TRUE(found.emplace(key_model, value_model).second) << "a key has two entries";
      if (exactly) {
        ASSERT_TRUE(reachable[static_cast<size_t>(key_model)]) << "a dead key has an entry";
      }
    }
    ASSERT_EQ(map_->size(), found.size());
    for (const auto& [key, value] : map_models_) {
      ASSERT_TRUE(!reachable[static_cast<size_t>(key)] || found.count(key))
          << "an entry is gone whose key is reachable";
    }
    map_models_ = std::move(found);
  }

 private:
  // A callback may throw at the safepoint of keys(), and keys may die there.
  std::vector<Local<Node>> KeysOfMap() {
    Local<Array<Node>> all;
    while (!all) Try([&] { all = map_->keys(); });
    std::vector<Local<Node>> keys;
    for (size_t i = 0; i < all->length(); ++i) keys.push_back(all->at(i));
    return keys;
  }

  size_t Pick(size_t n) { return random_() % n; }
  Shadow& shadow(size_t i) { return shadows_[static_cast<size_t>(models_[i])]; }

  void Create(size_t i) {
    const uint64_t id = ++next_id_;
    if (Pick(2) == 0) {
      roots_[i] = make<Node>(id, nullptr, nullptr, nullptr, nullptr);
      shadows_.push_back({id, -1, {}, "", -1});
    } else {
      const size_t from = Pick(kRoots);
      const int left = models_[from];
      roots_[i] = make<Node>(g_nodes, id, roots_[from], nullptr, nullptr, nullptr);
      shadows_.push_back({id, roots_[i]->left ? left : -1, {}, "", -1});
    }
    models_[i] = static_cast<int>(shadows_.size()) - 1;
  }

  void Link(size_t i, size_t to) {
    roots_[i]->left = roots_[to];
    shadow(i).left = models_[to];
  }

  void Fill(size_t i) {
    const size_t length = Pick(20) == 0 ? 1024 + Pick(2000) : Pick(12);
    roots_[i]->many = make_array<Node>(length);
    shadow(i).many.assign(length, -1);
  }

  void Store(size_t i, size_t to) {
    if (shadow(i).many.empty()) return;
    const size_t k = Pick(shadow(i).many.size());
    roots_[i]->many->at(k) = roots_[to];
    shadow(i).many[k] = models_[to];
  }

  // The first part of an array, or all of it.
  void Slice(size_t i) {
    if (!roots_[i]->many) return;
    const size_t begin = Pick(2) * Pick(shadow(i).many.size() + 1);
    const size_t end = begin + Pick(shadow(i).many.size() - begin + 1);
    roots_[i]->many = slice_array<Node>(roots_[i]->many, begin, end);
    const std::vector<int> all = shadow(i).many;
    shadow(i).many.assign(all.begin() + static_cast<ptrdiff_t>(begin),
                          all.begin() + static_cast<ptrdiff_t>(end));
  }

  // Between two arrays, or within one.
  void Copy(size_t i, size_t from) {
    if (Pick(2) == 0) from = i;
    if (!roots_[i]->many || !roots_[from]->many) return;
    const std::vector<int> source = shadow(from).many;
    std::vector<int>& target = shadow(i).many;
    const size_t begin = Pick(source.size() + 1);
    const size_t at = Pick(target.size() + 1);
    const size_t count = Pick(std::min(source.size() - begin, target.size() - at) + 1);
    copy_array<Node>(roots_[i]->many, at, roots_[from]->many, begin, count);
    std::copy_n(source.begin() + static_cast<ptrdiff_t>(begin), count,
                target.begin() + static_cast<ptrdiff_t>(at));
  }

  void FillPart(size_t i, size_t with) {
    if (!roots_[i]->many) return;
    std::vector<int>& target = shadow(i).many;
    const size_t begin = Pick(target.size() + 1);
    const size_t count = Pick(target.size() - begin + 1);
    fill_array<Node>(roots_[i]->many, begin, begin + count, roots_[with]);
    std::fill_n(target.begin() + static_cast<ptrdiff_t>(begin), count, models_[with]);
  }

  void Write(size_t i) {
    const std::string text(Pick(100) == 0 ? 9000 : Pick(60), static_cast<char>('a' + Pick(26)));
    roots_[i]->text = make_bytes(text);
    shadow(i).text = text;
  }

  // Makes a new shared object that points to this root's shared object, and puts it in its place.
  void Publish(size_t i) {
    const std::string text(Pick(30), static_cast<char>('a' + Pick(26)));
    const Local<Bytes> bytes = make_bytes(text);
    const Local<Shared> object = make<Shared>(g_shared, ++next_id_, roots_[i]->shared, bytes);
    const int next = shadow(i).shared;
    const int index = market_->Publish(Pick(Market::kStalls), object, next, text);
    roots_[i]->shared = object;
    shadow(i).shared = index;
  }

  void Take(size_t i) {
    int index = -1;
    const Local<Shared> object = market_->Take(Pick(Market::kStalls), &index);
    roots_[i]->shared = object;
    shadow(i).shared = index;
  }

  // Starts or stops the one plain tracker that all threads share.  Each thread may stop a tracker
  // that another one started.
  void ToggleTracker() {
    constexpr double kRates[] = {0, 1e-3, 0.05, 1};
    StartOptions options;
    options.seed = random_();
    options.callstack_size = static_cast<uint32_t>(Pick(3) * 8);
    const double rate = kRates[Pick(4)];
    const auto id = Tracker::start(rate, WildTracker(heap_, Pick(1000)), options);
    if (id.ok()) {
      last_ = *id;
    } else if (Pick(2) == 0) {
      Tracker::stop(StopMode::kKeepTracking).IgnoreError();
    } else {
      Tracker::stop().IgnoreError();
      Tracker::discard(last_).IgnoreError();
    }
  }

  Local<Ephemeron<Node, Node>> pair_at(size_t k) { return table_->at(k); }

  void Pair(size_t key, size_t value) {
    const size_t k = Pick(kPairs);
    table_->at(k) = make_ephemeron<Node, Node>(roots_[key], roots_[value]);
    pairs_[k] = {models_[key], models_[value]};
  }

  // Gives an old ephemeron a young key that nothing else refers to, a live key, or no key.
  void SetPair(size_t i) {
    const size_t k = Pick(kPairs);
    if (!table_->at(k)) return;
    const size_t kind = Pick(4);
    if (kind == 0) {
      set_ephemeron<Node, Node>(pair_at(k), nullptr, roots_[i]);
      pairs_[k] = {};
    } else if (kind == 1) {
      set_ephemeron<Node, Node>(pair_at(k), roots_[i], nullptr);
      pairs_[k] = {models_[i], -1};
    } else {
      const int key = static_cast<int>(shadows_.size());
      set_ephemeron<Node, Node>(pair_at(k), MakeNode(), roots_[i]);
      pairs_[k] = {key, models_[i]};
    }
  }

  // Makes the key or the value a root, if it is there.  The key may be one that only the ephemeron
  // knew.
  void ReadPair(size_t i) {
    const size_t k = Pick(kPairs);
    if (!table_->at(k)) return;
    const bool wants_key = Pick(2) == 0;
    const Local<Node> key = key_of<Node, Node>(pair_at(k));
    const Local<Node> value = value_of<Node, Node>(pair_at(k));
    if (!key) {
      ASSERT_FALSE(value);
      return;
    }
    ASSERT_GE(pairs_[k].key, 0);
    ASSERT_EQ(key->id, shadows_[static_cast<size_t>(pairs_[k].key)].id);
    ASSERT_EQ(static_cast<bool>(value), pairs_[k].value >= 0);
    if (!wants_key && !value) return;
    roots_[i] = wants_key ? key : value;
    models_[i] = wants_key ? pairs_[k].key : pairs_[k].value;
    ASSERT_EQ(roots_[i]->id, shadow(i).id);
  }

  void Chain(size_t i) {
    const bool with_tenure = Pick(8) == 0;
    MakeChain(i, with_tenure);
    // Begins a marking before a collection in one pause takes the tenure away.
    if (with_tenure && marks_in_slices_) {
      internal::CollectForGrowth(heap_->core(), internal::CurrentMutator());
    }
  }

  // Makes a chain of ephemerons: each value is the key of the next, and nothing else refers to it.
  // They are in the table in any order.  `with_tenure`: many, which stay for some collections,
  // since this frame refers to them.
  __attribute__((noinline)) void MakeChain(size_t i, bool with_tenure) {
    constexpr size_t kLongest = 24;
    Local<Node> nodes[kLongest];
    const size_t length = with_tenure ? kLongest : 3 + Pick(4);
    Local<Node> key = roots_[i];
    int key_model = models_[i];
    for (size_t n = 0; n < length; ++n) {
      const size_t k = Pick(kPairs);
      const int value_model = static_cast<int>(shadows_.size());
      nodes[n] = MakeNode();
      table_->at(k) = make_ephemeron<Node, Node>(key, nodes[n]);
      pairs_[k] = {key_model, value_model};
      key = nodes[n];
      key_model = value_model;
    }
    for (int n = 0; with_tenure && n < 3; ++n) heap_->Collect(CollectionKind::kMinor);
    asm volatile("" : : "r"(&nodes) : "memory");
  }

  void LosePair() {
    const size_t k = Pick(kPairs);
    table_->at(k) = nullptr;
    pairs_[k] = {};
  }

  // The model's entry is made when set() has returned: a callback may throw where the map grows.
  void SetModels(int key, int value) {
    map_keys_[shadows_[static_cast<size_t>(key)].id] = key;
    map_models_[key] = value;
  }

  // Mostly with a key that lives, or whose only reference is the map's.
  void SetInMap(size_t key, size_t value) {
    const size_t kind = Pick(4);
    if (kind == 0) {
      map_->set(roots_[key], nullptr);
      SetModels(models_[key], -1);
    } else if (kind == 1) {
      const int key_model = static_cast<int>(shadows_.size());
      map_->set(MakeNode(), roots_[value]);
      SetModels(key_model, models_[value]);
    } else {
      map_->set(roots_[key], roots_[value]);
      SetModels(models_[key], models_[value]);
    }
  }

  // Each value is the key of the next entry, and nothing else refers to it; the last value is the
  // first key.
  void ChainInMap(size_t i) {
    Local<Node> key = roots_[i];
    int key_model = models_[i];
    for (size_t n = 3 + Pick(20); n > 0; --n) {
      const int value_model = static_cast<int>(shadows_.size());
      const Local<Node> value = MakeNode();
      map_->set(key, value);
      SetModels(key_model, value_model);
      key = value;
      key_model = value_model;
    }
    map_->set(key, roots_[i]);
    SetModels(key_model, models_[i]);
  }

  void LookIntoMap(size_t i) {
    const auto entry = map_models_.find(models_[i]);
    ASSERT_EQ(map_->has(roots_[i]), entry != map_models_.end());
    const Local<Node> value = map_->get(roots_[i]);
    if (!value) return;
    ASSERT_EQ(value->id, shadows_[static_cast<size_t>(entry->second)].id);
    roots_[i] = value;
    models_[i] = entry->second;
  }

  void EraseFromMap(size_t i) {
    ASSERT_EQ(map_->erase(roots_[i]), map_models_.erase(models_[i]) == 1);
    if (Pick(500) == 0) {
      map_->clear();
      map_models_.clear();
    }
  }

  // Makes some key a root, perhaps one that only the map knew.
  void TakeFromMap(size_t i) {
    if (Pick(20) != 0) return;
    const Local<Array<Node>> keys = map_->keys();
    if (keys->length() == 0) return;
    roots_[i] = keys->at(Pick(keys->length()));
    models_[i] = map_keys_.at(roots_[i]->id);
    ASSERT_TRUE(map_models_.count(models_[i]));
  }

  void Finalize(size_t i) {
    if (shadow(i).has_finalizer) return;
    Finalized* const finalized = finalized_;
    const uint64_t id = shadow(i).id;
    add_finalizer<Node>(roots_[i], [finalized, id](Handle<Node> node) {
      EXPECT_EQ(node->id, id);
      finalized->Note(id);
      make_bytes("finalized");
    });
    shadow(i).has_finalizer = true;
    ++finalized->registered;
  }

  // Returns a node that nothing in the model refers to yet.
  Local<Node> MakeNode() {
    const uint64_t id = ++next_id_;
    const Local<Node> node = make<Node>(id, nullptr, nullptr, nullptr, nullptr);
    shadows_.push_back({id, -1, {}, "", -1});
    return node;
  }

  // Computes the nodes that the model can reach: from the roots, and from the values of ephemerons
  // with reachable keys.
  std::vector<bool> Reachable() const {
    std::vector<bool> reachable(shadows_.size());
    std::vector<int> left(models_);
    const auto mark_all = [&] {
      while (!left.empty()) {
        const int index = left.back();
        left.pop_back();
        if (index < 0 || reachable[static_cast<size_t>(index)]) continue;
        reachable[static_cast<size_t>(index)] = true;
        const Shadow& shadow = shadows_[static_cast<size_t>(index)];
        left.push_back(shadow.left);
        left.insert(left.end(), shadow.many.begin(), shadow.many.end());
      }
    };
    mark_all();
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const PairModel& pair : pairs_) {
        if (pair.key < 0 || pair.value < 0 || !reachable[static_cast<size_t>(pair.key)]) continue;
        if (reachable[static_cast<size_t>(pair.value)]) continue;
        left.push_back(pair.value);
        mark_all();
        has_changed = true;
      }
      for (const auto& [key, value] : map_models_) {
        if (value < 0 || !reachable[static_cast<size_t>(key)]) continue;
        if (reachable[static_cast<size_t>(value)]) continue;
        left.push_back(value);
        mark_all();
        has_changed = true;
      }
    }
    return reachable;
  }

  void Descend(size_t i) {
    if (shadow(i).left < 0) return;
    models_[i] = shadow(i).left;
    roots_[i] = roots_[i]->left;
  }

  Heap* heap_;
  Market* market_;
  Finalized* finalized_;
  std::mt19937_64 random_;
  const bool marks_in_slices_;
  TrackerId last_;
  int interrupted_ = 0;
  uint64_t next_id_;
  std::vector<Local<Node>> roots_{kRoots};
  std::vector<int> models_ = std::vector<int>(kRoots, -1);
  std::vector<Shadow> shadows_;
  Root<Array<Ephemeron<Node, Node>>> table_;
  PairModel pairs_[kPairs];
  Root<WeakMap<Node, Node>> map_;
  std::unordered_map<int, int> map_models_;     // value by key, with keys that may have died
  std::unordered_map<uint64_t, int> map_keys_;  // the models of all keys that were ever set, by id
};

}  // namespace allomon::gc::testing

#endif  // ALLOMON_TESTS_RUNTIME_MODEL_PROGRAM_H_
