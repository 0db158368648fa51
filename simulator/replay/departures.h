// Operations that have started but whose first byte does not flow yet: launch, latency, upstream
// pieces.
#pragma once

#include <algorithm>
#include <vector>

#include "planner/schedule/plan.h"

namespace transload {

// A queue by date; equal dates leave in the order in which they came.
class Departures {
 public:
  bool empty() const { return heap_.empty(); }
  double next_s() const { return heap_.front().date_s; }
  bool due(double until_s) const { return !empty() && next_s() <= until_s; }

  void add(double date_s, OpId op) {
    heap_.push_back({date_s, added_++, op});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  OpId take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const OpId op = heap_.back().op;
    heap_.pop_back();
    return op;
  }

 private:
  struct Departure {
    double date_s;
    std::uint32_t number;
    OpId op;
  };

  static bool later(const Departure& a, const Departure& b) {
    return a.date_s != b.date_s ? a.date_s > b.date_s : a.number > b.number;
  }

  std::vector<Departure> heap_;
  std::uint32_t added_ = 0;
};

}  // namespace transload
