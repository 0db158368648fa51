#include "planner/strategy/p2p_tasks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/strategy/p2p_conversions.h"
#include "planner/strategy/rail_gather.h"

namespace transload {
namespace {

// A box that every tensor of a group has in common with one class.
struct Part {
  std::uint32_t group = 0;  // of what is gathered
  std::uint32_t holders = 0;
  Box box;
  std::int64_t bytes = 0;  // of one tensor
  const ConvertedGroup* converted = nullptr;
};

// The box of consecutive tensors.
struct Run {
  const Part* part = nullptr;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class MeshMaker {
 public:
  MeshMaker(PlanBuilder& builder, const ReshardProblem& problem, const Fabric& fabric)
      : builder_(builder), problem_(problem), fabric_(fabric) {}

  std::vector<Mesh> make(const Demand& demand, std::int64_t task_bytes, std::int64_t task_limit) {
    // By mesh, then by receivers; and in plan order, tensors of a group part by part.
    std::map<std::vector<Rank>, std::map<Receivers, std::vector<Part>>> parts;
    const std::vector<ConvertedGroup> conversions = converted_groups(problem_);
    for (const DemandClass& demand_class : demand.classes)
      for (const DemandSlice& slice : demand_class.slices)
        if (!is_converted(slice.group, conversions))
          parts[mesh_of(slice.group)][{demand_class.receivers, false}].push_back(
              {slice.group, demand_class.holders, slice.box,
               slice_bytes(problem_, slice) / problem_.groups[slice.group].count});
    for (const ConvertedGroup& converted : conversions) {
      const TensorGroup& original = problem_.groups[converted.original];
      for_each_common_cell(problem_.layouts[original.source],
                           problem_.layouts[problem_.groups[converted.values].destination],
                           [&](const Box& box, std::uint32_t holders, std::uint32_t receivers) {
                             if (receivers != 0)
                               parts[mesh_of(converted.original)][{receivers, true}].push_back(
                                   {converted.original, holders, box,
                                    volume(box) * element_bytes(original.dtype), &converted});
                           });
    }
    std::vector<Mesh> meshes;
    for (auto& [ranks, by_receivers] : parts) {
      std::int64_t total = 0;
      for (const auto& [receivers, list] : by_receivers)
        for (const Part& part : list) total += part.bytes * problem_.groups[part.group].count;
      Mesh mesh{ranks, {}};
      const RailPlaces places(sites_of(ranks, fabric_), fabric_.ranks.size());
      std::vector<std::pair<std::size_t, GatherTask>> numbered;
      for (auto& [receivers, list] : by_receivers) {
        std::vector<GatherTask> tasks =
            make_tasks(list, receivers.first, places, std::max(task_bytes, total / task_limit));
        for (std::size_t i = 0; i < tasks.size(); ++i)
          numbered.emplace_back(i, std::move(tasks[i]));
      }
      std::stable_sort(numbered.begin(), numbered.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (auto& [turn, task] : numbered) mesh.tasks.push_back(std::move(task));
      meshes.push_back(std::move(mesh));
    }
    return meshes;
  }

 private:
  // A task is converted as a whole or not at all.
  using Receivers = std::pair<std::uint32_t, bool>;

  static bool is_converted(std::uint32_t group, const std::vector<ConvertedGroup>& conversions) {
    return std::any_of(conversions.begin(), conversions.end(), [&](const ConvertedGroup& entry) {
      return entry.original == group || entry.values == group || entry.scales == group;
    });
  }

  // All ranks that hold any of the group's tensors.
  std::vector<Rank> mesh_of(std::uint32_t group) const {
    std::set<Rank> ranks;
    for (const RankBox& shard : problem_.layouts[problem_.groups[group].source].shards)
      ranks.insert(shard.rank);
    return {ranks.begin(), ranks.end()};
  }

  std::vector<GatherTask> make_tasks(std::vector<Part>& parts, std::uint32_t receivers,
                                     const RailPlaces& places, std::int64_t task_bytes) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.group < b.group; });
    std::vector<GatherTask> tasks;
    std::vector<Run> runs;
    std::int64_t bytes = 0;
    const auto close = [&] {
      if (bytes > 0) tasks.push_back(seal(runs, receivers, places));
      runs.clear();
      bytes = 0;
    };
    for (std::size_t i = 0; i < parts.size();) {
      std::size_t end = i;
      while (end < parts.size() && parts[end].group == parts[i].group) ++end;
      const TensorGroup& group = problem_.groups[parts[i].group];
      // Whole tensors: every part of one is in the same task.
      for (std::uint32_t t = 0; t < group.count; ++t) {
        for (std::size_t p = i; p < end; ++p) {
          add(runs, parts[p], group.first + t);
          bytes += parts[p].bytes;
        }
        if (bytes >= task_bytes) close();
      }
      i = end;
    }
    close();
    return tasks;
  }

  static void add(std::vector<Run>& runs, const Part& part, std::uint32_t tensor) {
    for (auto run = runs.rbegin(); run != runs.rend() && run->part->group == part.group; ++run)
      if (run->part == &part) {
        ++run->count;
        return;
      }
    runs.push_back({&part, tensor, 1});
  }

  // What one set of holders contributes lies together.
  GatherTask seal(std::vector<Run>& runs, std::uint32_t receivers, const RailPlaces& places) {
    const auto place = [&](const Run& run) {
      return std::pair(places.of(problem_.sets.of(run.part->holders).front()), run.part->holders);
    };
    std::stable_sort(runs.begin(), runs.end(),
                     [&](const Run& a, const Run& b) { return place(a) < place(b); });
    GatherTask task;
    task.receivers = receivers;
    std::vector<SliceSpec> slices;
    for (const Run& run : runs) {
      slices.push_back({run.first, run.count, 1, builder_.add_box(run.part->box.bounds)});
      const std::int64_t end = task.bucket.bytes + run.part->bytes * run.count;
      if (!task.pieces.empty() && task.pieces.back().holders == run.part->holders)
        task.pieces.back().range.end = end;
      else
        task.pieces.push_back({{task.bucket.bytes, end}, run.part->holders});
      task.bucket.bytes = end;
      task.bucket.tensors += run.count;
    }
    task.bucket.bundle = builder_.add_bundle(slices);
    if (runs.front().part->converted != nullptr) make_converted(runs, receivers, task);
    return task;
  }

  // Whole boxes of the receivers, whatever the trainers' shards cut: values and scales once per
  // tensor.
  void make_converted(const std::vector<Run>& runs, std::uint32_t receivers, GatherTask& task) {
    using Tensors = std::pair<std::uint32_t, std::uint32_t>;  // first in its group, count
    std::map<std::uint32_t, std::pair<ConvertedGroup, std::set<Tensors>>> by_values;
    for (const Run& run : runs) {
      const ConvertedGroup& converted = *run.part->converted;
      auto& [group, tensors] = by_values[converted.values];
      group = converted;
      tensors.insert({run.first - problem_.groups[converted.original].first, run.count});
    }
    std::vector<SliceSpec> slices;
    const auto add_boxes = [&](std::uint32_t index, const Tensors& tensors) {
      const TensorGroup& group = problem_.groups[index];
      const Layout& layout = problem_.layouts[group.destination];
      for_each_common_cell(layout, layout, [&](const Box& box, std::uint32_t, std::uint32_t set) {
        if (set == receivers)
          slices.push_back(
              {group.first + tensors.first, tensors.second, 1, builder_.add_box(box.bounds)});
      });
    };
    for (const auto& [values, converted] : by_values)
      for (const Tensors& tensors : converted.second) {
        add_boxes(values, tensors);
        if (converted.first.scales != ConvertedGroup::kNoScales)
          add_boxes(converted.first.scales, tensors);
      }
    task.made.bundle = builder_.add_bundle(slices);
    task.made.bytes = static_cast<std::int64_t>(builder_.bundle_bytes(task.made.bundle));
    task.made.tensors = task.bucket.tensors;
  }

  PlanBuilder& builder_;
  const ReshardProblem& problem_;
  const Fabric& fabric_;
};

}  // namespace

std::vector<Mesh> make_meshes(PlanBuilder& builder, const ReshardProblem& problem,
                              const Demand& demand, const Fabric& fabric, std::int64_t task_bytes,
                              std::int64_t task_limit) {
  return MeshMaker(builder, problem, fabric).make(demand, task_bytes, task_limit);
}

std::vector<std::vector<std::size_t>> mesh_groups(const std::vector<Mesh>& meshes) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::set<Rank>> taken;
  for (std::size_t m = 0; m < meshes.size(); ++m) {
    const std::vector<Rank>& ranks = meshes[m].ranks;
    std::size_t g = 0;
    while (g < groups.size() && std::any_of(ranks.begin(), ranks.end(),
                                            [&](Rank rank) { return taken[g].contains(rank); }))
      ++g;
    if (g == groups.size()) {
      groups.emplace_back();
      taken.emplace_back();
    }
    groups[g].push_back(m);
    taken[g].insert(ranks.begin(), ranks.end());
  }
  return groups;
}

}  // namespace transload
