// Latencies of single InfiniBand or RoCE ports, as perftest's ib_write_lat measures them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

struct PortLatency {
  std::string source;       // host; empty: not stated
  std::string destination;  // host; empty: not stated
  std::string nic;          // empty: not stated
  std::int32_t numa = -1;   // of the NIC; -1: not stated
  std::int64_t bytes = 0;   // message size; 0: not stated
  std::int64_t latency_ps = 0;
};

// Reads summaries of one line per port, "HOST HOST NIC -> NUMA N: MICROSECONDS", whose comment
// names the unit, or the table that ib_write_lat itself prints (column t_typical). Throws
// InputError for lines of another form.
std::vector<PortLatency> parse_ib_write_lat(const std::string& text, const std::string& file);

}  // namespace transload
