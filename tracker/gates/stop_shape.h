// The two shapes of Google Benchmark's MemoryManager.  Up to 1.7 its pure function is
// Stop(Result*); from 1.8 on that one is gone, and Stop(Result&) is pure.
#ifndef ALLOMON_TRACKER_GATES_STOP_SHAPE_H_
#define ALLOMON_TRACKER_GATES_STOP_SHAPE_H_

#include <type_traits>

namespace allomon::internal {

// Concrete in the newer shape, abstract in the older one.  It is only declared, and only its type
// is used, since naming the older function causes a warning.
template <typename Manager>
struct StopsByReference : Manager {
  void Start() override;
  void Stop(typename Manager::Result& result) override;
  using Manager::Stop;
};

// A memory manager that Fill() stops, in either shape of the library.
template <typename Manager, bool kByPointer = std::is_abstract_v<StopsByReference<Manager>>>
class StoppedByFill : public Manager {
 public:
  using Result = typename Manager::Result;
  void Stop(Result& result) final { Fill(&result); }

 protected:
  virtual void Fill(Result* result) = 0;
};

template <typename Manager>
class StoppedByFill<Manager, true> : public Manager {
 public:
  using Result = typename Manager::Result;
  void Stop(Result* result) final { Fill(result); }
  using Manager::Stop;

 protected:
  virtual void Fill(Result* result) = 0;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_STOP_SHAPE_H_
