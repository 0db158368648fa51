// The even order on hops by hand: ports of 1,000 B/s, chunks of 100 bytes: 0.1 s each.
#include "planner/strategy/even_order.h"

#include <gtest/gtest.h>

namespace transload {
namespace {

constexpr std::int64_t kTenth = 100'000'000'000;  // ps

struct Case {
  Fabric fabric;
  std::vector<Chunk> chunks;
  std::vector<Hop> hops;

  explicit Case(std::size_t ports) { fabric.port_rate.assign(ports, 1000); }

  // A chunk of the route, and the hop that it leaves with.
  std::uint32_t leave(std::uint32_t route, std::int32_t out, std::int32_t in) {
    Chunk chunk;
    chunk.route = route;
    chunk.bytes = 100;
    chunks.push_back(chunk);
    return add(out, in, kNoHop);
  }
  std::uint32_t add(std::int32_t out, std::int32_t in, std::uint32_t from) {
    Hop hop;
    hop.chunk = static_cast<std::uint32_t>(chunks.size() - 1);
    hop.id = static_cast<std::uint32_t>(hops.size());
    hop.from = from;
    hop.source = out;
    hop.destination = in;
    hop.out_port = out;
    hop.in_port = in;
    hops.push_back(hop);
    return hop.id;
  }
  std::vector<std::uint32_t> ordered(std::uint32_t window) const {
    std::vector<std::uint32_t> ids;
    for (const Hop& hop : even_order(hops, chunks, fabric, window).hops) ids.push_back(hop.id);
    return ids;
  }
};

TEST(EvenOrder, RoutesOfAPortAdvanceTogetherWhateverTheirLengths) {
  // Four chunks to port 1 and two to port 2: each route is through half at half of the time. The
  // first stand at (k + 1/4) / 4 of it, the others at (k + 3/4) / 2.
  Case job(3);
  for (int i = 0; i < 4; ++i) job.leave(0, 0, 1);
  for (int i = 0; i < 2; ++i) job.leave(1, 0, 2);
  EXPECT_EQ(job.ordered(1), (std::vector<std::uint32_t>{0, 1, 4, 2, 3, 5}));
}

TEST(EvenOrder, AForwardStandsAWindowBehindItsLanding) {
  // Eight chunks of 0.1 s; with a window of three each is handed on 0.3 s later.
  Case job(4);
  for (int i = 0; i < 8; ++i) job.add(2, 3, job.leave(0, 0, 1));
  // Landings have even ids. The forward of the first follows the landing of the fourth, which
  // stands at the same moment and was made later.
  const std::vector<std::uint32_t> order = job.ordered(3);
  const auto place = [&](std::uint32_t id) {
    return std::find(order.begin(), order.end(), id) - order.begin();
  };
  EXPECT_GT(place(1), place(4));
  EXPECT_LT(place(1), place(8));
  EXPECT_EQ(even_order(job.hops, job.chunks, job.fabric, 3).makespan_ps, (8 + 3) * kTenth);
}

TEST(EvenOrder, ChunksThatTravelOtherWaysAreRoutesOfTheirOwn) {
  // One route whose first half is forwarded by port 1 and its second half by port 3: both forward
  // from the beginning.
  Case job(6);
  job.add(2, 5, job.leave(0, 0, 1));
  job.add(2, 5, job.leave(0, 0, 1));
  job.add(4, 5, job.leave(0, 0, 3));
  job.add(4, 5, job.leave(0, 0, 3));
  std::vector<std::uint32_t> landings;
  for (const std::uint32_t id : job.ordered(1))
    if (id % 2 == 0) landings.push_back(id);
  EXPECT_EQ(landings, (std::vector<std::uint32_t>{0, 4, 2, 6}));
}

}  // namespace
}  // namespace transload
