// Where routes and chunks of converted data may be cut: between blocks. Internal to
// planner/strategy.
//
// Elements that share a scale are made by one operation. In a class's packed order a block of 128
// rows ends with its last row, so cuts lie between rows of blocks of one matrix; of casts, between
// elements.
#pragma once

#include <cstdint>

#include "planner/demand/slice_offsets.h"
#include "planner/strategy/routes.h"

namespace transload {

class BlockBorders {
 public:
  // `offsets`: of `demand`; all three have to outlive it.
  BlockBorders(const ReshardProblem& problem, const Demand& demand, const SliceOffsets& offsets)
      : problem_(problem), demand_(demand), offsets_(offsets) {}
  // The last byte at or before `byte` of the class's packed order where it may be cut; classes that
  // are not converted may be cut anywhere. 0 and the class's bytes are borders.
  std::int64_t before(std::uint32_t demand_class, std::int64_t byte) const;

 private:
  const ReshardProblem& problem_;
  const Demand& demand_;
  const SliceOffsets& offsets_;
};

// The routes with their cuts moved to borders. Every cut of a class moves alike, so what was
// covered stays covered; routes that have nothing left are dropped.
RouteSet on_block_borders(const RouteSet& routes, const BlockBorders& borders);

}  // namespace transload
