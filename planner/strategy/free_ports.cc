#include "planner/strategy/free_ports.h"

#include <algorithm>

#include "common/check.h"

namespace transload {

void FreePorts::insert(std::int64_t left, std::int32_t port) {
  const Entry entry{left, port};
  entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), entry);
}

void FreePorts::erase(std::int64_t left, std::int32_t port) {
  const Entry entry{left, port};
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), entry);
  TRANSLOAD_CHECK(at != entries_.end() && *at == entry, "a port that is erased was free");
  entries_.erase(at);
}

void RankedBitMatrix::count() {
  before_.assign(words_.size(), 0);
  for (std::size_t word = 1; word < words_.size(); ++word)
    if (word % words_per_row_ != 0)
      before_[word] =
          before_[word - 1] + static_cast<std::uint32_t>(std::popcount(words_[word - 1]));
}

}  // namespace transload
