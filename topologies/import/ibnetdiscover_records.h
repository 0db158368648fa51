// The records of ibnetdiscover's output, as the tool prints them: one for each switch, card and
// router, with a line for each cable that ends there.
//
// Source of the form: the manual page ibnetdiscover(8) of rdma-core, "Topology File Format".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transload {

struct IbCable {
  std::int64_t port = 0;
  std::string peer;  // id of the record at the other end
  std::int64_t peer_port = 0;
  std::int64_t rate = 0;  // bytes/s in one direction
  int line = 0;
};

struct IbRecord {
  enum class Kind : std::uint8_t { kSwitch, kCard, kRouter };

  Kind kind = Kind::kSwitch;
  std::string id;           // "S-2c5eab0300b87b40"; cards "H-...", routers "R-..."
  std::string description;  // what the device calls itself
  std::vector<IbCable> cables;
  int line = 0;
};

// Every record in the file's order. Throws InputError for lines of another form, ids that stand
// twice, unknown rates, and for what only a cut-off file has: a cable to a device without a record,
// or a cable that its other end does not list.
std::vector<IbRecord> read_ibnetdiscover_records(const std::string& text, const std::string& file);

}  // namespace transload
