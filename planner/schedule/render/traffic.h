// What a plan moves, added up for drawing: bytes between pairs of ranks, or of NVLink domains, and
// what each rank has to do with the job.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/schedule/op_facts.h"
#include "planner/schedule/render/style.h"

namespace transload::render {

// All transfers from one place to another over one kind of link. Places are ranks or domains.
struct Flow {
  std::int32_t from = 0;
  std::int32_t to = 0;
  OpLink link = OpLink::kNetwork;
  std::uint64_t bytes = 0;
  std::uint64_t transfers = 0;
};

// Flows of the transfers among `ops`, ascending by (from, to, link).
std::vector<Flow> rank_flows(const Plan& plan, const std::vector<OpId>& ops);
std::vector<Flow> domain_flows(const Plan& plan, const std::vector<Flow>& by_rank);

// Bytes that `ops` copy from source to destination buffers within each rank.
std::vector<std::uint64_t> local_bytes(const Plan& plan, const std::vector<OpId>& ops);

enum class Part : std::uint8_t { kHelper, kSource, kDestination, kBoth };
std::string_view name_of(Part part);  // "helper", "source", "destination", "source and destination"
Ink ink_of(Part part);
Part operator|(Part a, Part b);
// By the shards that the rank holds.
Part part_of(const Plan& plan, std::int32_t rank);

struct Domain {
  std::int32_t number = 0;
  std::vector<std::int32_t> nodes;  // ascending
  std::vector<std::int32_t> ranks;  // those drawn, ascending
  Part part = Part::kHelper;
  std::uint64_t sources = 0;  // ranks with source shards
  std::uint64_t destinations = 0;
  std::uint64_t staging_bytes = 0;  // of the rank that needs most
};

// The domains that have a rank with something to show, ascending: ranks that take part in the job
// or, where the selection is not empty, ranks that the selected operations touch.
std::vector<Domain> drawn_domains(const Plan& plan, const OpSelection& selection,
                                  const std::vector<OpId>& ops);

}  // namespace transload::render
