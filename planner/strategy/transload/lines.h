// Cutting demands over the ports that carry them: north-west-corner slicing. Internal to the
// strategy `transload`.
//
// A *line* is the bytes of one rank set laid end to end, stretch after stretch (a stretch is a byte
// range of one class); its ports take consecutive parts of it in proportion to their shares. So
// n ports make n - 1 cuts in all the classes together, whatever their number: few long routes,
// each port talks to few peers, and small classes stay whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/demand/slice_offsets.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

// Where a class may be cut near a byte of its packed order.
class ClassCuts {
 public:
  ClassCuts(const ReshardProblem& problem, const Demand& demand)
      : problem_(problem), demand_(demand), offsets_(problem, demand) {}
  // The nearest byte that is a good cut: between tensors, between quantisation blocks of
  // 8-bit floats, between rows (several rows where they are shorter than a page), at least between
  // elements, and at most `tolerance` away where there is one. Between 0 and the class's bytes.
  std::int64_t near(std::uint32_t demand_class, std::int64_t byte, std::int64_t tolerance) const;

 private:
  const ReshardProblem& problem_;
  const Demand& demand_;
  SliceOffsets offsets_;
};

struct Stretch {
  std::uint32_t demand_class = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The part of a stretch that one port carries.
struct Piece {
  std::int64_t end = 0;  // byte of the class; begins where the one before ends
  std::uint32_t share = 0;
};

// Cuts the stretches of a line; result by stretch, each covering it. `tolerance`: bytes by which a
// cut may miss its exact place.
std::vector<std::vector<Piece>> cut_line(std::span<const Stretch> stretches,
                                         std::span<const PortShare> shares, const ClassCuts& cuts,
                                         std::int64_t tolerance);

}  // namespace transload
