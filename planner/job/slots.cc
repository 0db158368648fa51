#include "planner/job/slots.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <span>

#include "planner/layout/mesh_rules.h"

namespace transload {
namespace {

std::vector<std::int64_t> parse_ids(const YamlValue& list) {
  std::vector<std::int64_t> ids;
  for (const YamlValue& item : list.list())
    ids.push_back(item.integer_in(0, std::int64_t{1} << 31));
  return ids;
}

void require_experts(const YamlValue& value, const SideContext& context) {
  if (context.shape.empty()) value.fail("the tensor has no dimension 0 that counts experts");
}

// Remembers which experts have a slot; refuses ids outside the dimension, a second copy on one
// rank, a missing expert. Memory and time follow the slots, not the experts that the tensor claims.
class Coverage {
 public:
  Coverage(const YamlValue& value, const SideContext& context)
      : value_(value), experts_(context.shape[0]) {}

  // Slots of one rank; `first` is the number of its first among all.
  void add_rank(Rank rank, std::int64_t first, std::span<const std::int64_t> ids) {
    std::set<std::int64_t> own;
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      const std::int64_t id = ids[slot];
      if (id >= experts_)
        value_.fail(
            fmt::format("physical slot {} (rank {}, its slot {}) holds expert {}; the "
                        "tensor has experts 0 to {}",
                        first + static_cast<std::int64_t>(slot), rank, slot, id, experts_ - 1));
      if (!own.insert(id).second)
        value_.fail(fmt::format(
            "rank {} holds expert {} in two slots; redundant copies belong on different ranks",
            rank, id));
    }
    add(ids);
  }

  // Slots whose ranks only the layout knows.
  void add(std::span<const std::int64_t> ids) { held_.insert(ids.begin(), ids.end()); }

  void require_all() const {
    std::int64_t next = 0;
    for (auto id = held_.begin(); id != held_.end() && *id == next; ++id) ++next;
    if (next < experts_) value_.fail(fmt::format("no slot holds expert {} of {}", next, experts_));
  }

 private:
  const YamlValue& value_;
  std::int64_t experts_;
  std::set<std::int64_t> held_;
};

void parse_map(const YamlValue& value, Sharding& sharding, const SideContext& context) {
  require_experts(value, context);
  Coverage coverage(value, context);
  std::int64_t first = 0;
  for (const auto& [key, list] : value.map().entries())
    sharding.rank_slots[rank_key(key, list, context.last_rank)] = parse_ids(list);
  for (const auto& [rank, ids] : sharding.rank_slots) {
    coverage.add_rank(rank, first, ids);
    first += static_cast<std::int64_t>(ids.size());
  }
  coverage.require_all();
}

void parse_expert_to_rank(const YamlValue& value, Sharding& sharding, const SideContext& context) {
  require_experts(value, context);
  const YamlValue list = [&] {
    if (!value.is_map()) return value;
    YamlMap map = value.map();
    const std::filesystem::path file = map.required("file").text();
    map.finish();
    return YamlValue::from_file(file.is_absolute()
                                    ? file.string()
                                    : (std::filesystem::path(context.base_folder) / file).string());
  }();
  const std::vector<YamlValue> ranks = list.list();
  if (static_cast<std::int64_t>(ranks.size()) != context.shape[0])
    list.fail(fmt::format("expected the rank of each of {} experts, found {}", context.shape[0],
                          ranks.size()));
  for (std::size_t id = 0; id < ranks.size(); ++id)
    sharding.rank_slots[static_cast<Rank>(ranks[id].integer_in(0, context.last_rank))].push_back(
        static_cast<std::int64_t>(id));
}

// Numbers of the axes that cut the slots, in the order in which they are applied.
std::vector<std::size_t> slot_axes(const Sharding& sharding) {
  std::vector<std::size_t> axes;
  for (const int axis : application_order(sharding))
    if (sharding.placements[static_cast<std::size_t>(axis)].dim == 0)
      axes.push_back(static_cast<std::size_t>(axis));
  return axes;
}

// The first rank that has the given part of the slots: other axes' coordinates are 0.
Rank rank_of_part(const Sharding& sharding, const std::vector<std::size_t>& axes,
                  std::int64_t part) {
  std::vector<std::int64_t> coordinates(sharding.mesh.size(), 0);
  for (std::size_t i = axes.size(); i-- > 0;) {
    coordinates[axes[i]] = part % sharding.mesh[axes[i]].size;
    part /= sharding.mesh[axes[i]].size;
  }
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < sharding.mesh.size(); ++axis)
    position = position * sharding.mesh[axis].size + coordinates[axis];
  return sharding.ranks[static_cast<std::size_t>(position)];
}

}  // namespace

bool parse_rank_slots(YamlMap& side, Sharding& sharding, const SideContext& context) {
  if (const auto table = side.optional("expert_to_rank")) {
    parse_expert_to_rank(*table, sharding, context);
    return true;
  }
  const auto experts = side.optional("experts");
  if (!experts || !experts->is_map()) return false;
  parse_map(*experts, sharding, context);
  return true;
}

void parse_slot_list(YamlMap& side, Sharding& sharding, const SideContext& context) {
  const auto experts = side.optional("experts");
  if (!experts) return;
  require_experts(*experts, context);
  if (!experts->is_list())
    experts->fail("expected a list of expert ids, one per slot, or {rank: [ids]}");
  sharding.slots = parse_ids(*experts);
  if (sharding.slots.empty()) experts->fail("expected at least one slot");
  // The slots must be the same number everywhere, as engines allocate them.
  const std::vector<std::size_t> axes = slot_axes(sharding);
  std::int64_t parts = 1;
  bool plain = !sharding.sizes.contains(0);
  for (const std::size_t axis : axes) {
    parts *= sharding.mesh[axis].size;
    plain = plain && sharding.placements[axis].split_factor == 1;
  }
  const auto slots = static_cast<std::int64_t>(sharding.slots.size());
  if (slots % parts != 0)
    experts->fail(fmt::format(
        "{} slots ({} experts and {} redundant ones) do not divide over {} ranks; the next number "
        "that does is {}",
        slots, context.shape[0], slots - context.shape[0], parts,
        (slots + parts - 1) / parts * parts));
  Coverage coverage(*experts, context);
  const std::int64_t each = slots / parts;
  if (!plain) coverage.add(sharding.slots);
  for (std::int64_t part = 0; plain && part < parts; ++part)
    coverage.add_rank(
        rank_of_part(sharding, axes, part), part * each,
        std::span(sharding.slots)
            .subspan(static_cast<std::size_t>(part * each), static_cast<std::size_t>(each)));
  coverage.require_all();
}

}  // namespace transload
