#include "planner/job/job_digest.h"

#include <string_view>

#include "common/content_hash.h"

namespace transload {
namespace {

void add(ContentHash& hash, const Box& box) { hash.add_all(box.bounds); }

void add(ContentHash& hash, const Layout& layout) {
  hash.add(layout.slots);
  hash.add(layout.shards.size());
  for (const RankBox& shard : layout.shards) {
    hash.add(shard.rank, shard.offset_bits, shard.loops, shard.pool);
    add(hash, shard.box);
  }
  hash.add(layout.loops.size());
  for (const PlaceLoops& loops : layout.loops) {
    hash.add(loops.size());
    for (const PlaceLoop& loop : loops) hash.add(loop.dim, loop.length, loop.stride_bits);
  }
  hash.add(layout.storage.size());
  for (const RankStorage& storage : layout.storage) {
    hash.add(storage.rank, storage.bytes, storage.zero_padding, storage.slot_bytes, storage.pool,
             storage.padding.size());
    for (const PaddingSpan& span : storage.padding) hash.add(span.offset_bytes, span.bytes);
  }
}

void add(ContentHash& hash, const SideBuffers& side) {
  hash.add(side.of_tensor.size());
  for (const BufferRef& ref : side.of_tensor) hash.add(ref.buffer, ref.slot);
  hash.add(side.buffers.size());
  for (const SharedBuffer& buffer : side.buffers) {
    hash.add_text(buffer.name);
    hash.add(buffer.destination_class);
  }
}

void add(ContentHash& hash, const ReshardProblem& problem) {
  hash.add(problem.names.size());
  for (const std::string& name : problem.names) hash.add_text(name);
  hash.add_all(problem.layers);
  hash.add_all(problem.input_position);
  hash.add_all(problem.source_tensor);
  hash.add_all(problem.made_from);
  hash.add(problem.groups.size());
  for (const TensorGroup& group : problem.groups) {
    hash.add(group.first, group.count, group.dtype, group.source, group.destination, group.making,
             group.recipe);
    hash.add_all(group.shape);
  }
  hash.add(problem.layouts.size());
  for (const Layout& layout : problem.layouts) add(hash, layout);
  add(hash, problem.source_buffers);
  hash.add(problem.destination_buffers.size());
  for (const SideBuffers& pool : problem.destination_buffers) add(hash, pool);
  hash.add(problem.declared_buffers.size());
  for (const auto& [name, buffer] : problem.declared_buffers) {
    hash.add_text(name);
    hash.add(buffer.bytes, buffer.fill, buffer.rank_bytes.size(), buffer.padding.size());
    for (const auto& [rank, bytes] : buffer.rank_bytes) hash.add(rank, bytes);
    for (const auto& [low, high] : buffer.padding) hash.add(low, high);
  }
}

void add(ContentHash& hash, const LinkCosts& costs) {
  hash.add(costs.efficiency_ppm, costs.latency_ps, costs.occupancy_ps);
}

void add(ContentHash& hash, const GpuModel& model) {
  hash.add_text(model.name);
  hash.add(model.hbm_rate, model.memory_bytes, model.copy_engine_ppm, model.quantise_ppm,
           model.nvlink_link_rate, model.host_link_rate, model.host_link_ppm,
           model.copy_rates.size());
  for (const CopyRate& rate : model.copy_rates) hash.add(rate.run_bytes, rate.efficiency_ppm);
  add(hash, model.copy);
}

void add(ContentHash& hash, const Topology& topology) {
  hash.add_text(topology.name);
  hash.add_text(topology.fabric_kind);
  hash.add(topology.domain_count, topology.unit_test_rates);
  hash.add(topology.gpu_models.size(), topology.link_costs.size(), topology.nodes.size(),
           topology.gpus.size(), topology.nics.size(), topology.pcie_switches.size(),
           topology.switches.size(), topology.sites.size(), topology.wan_links.size());
  for (const GpuModel& model : topology.gpu_models) add(hash, model);
  for (const LinkCosts& costs : topology.link_costs) add(hash, costs);
  for (const Node& node : topology.nodes) {
    hash.add_text(node.name);
    hash.add(node.first_gpu, node.gpu_count, node.site, node.block, node.host_memory_bytes);
  }
  for (const Gpu& gpu : topology.gpus) {
    hash.add(gpu.node, gpu.index, gpu.domain, gpu.model, gpu.nvlink_rate, gpu.nvlink_costs,
             gpu.numa, gpu.pcie_switch);
    hash.add_all(gpu.nics);
  }
  for (const Nic& nic : topology.nics) {
    hash.add_text(nic.name);
    hash.add(nic.node, nic.rail, nic.plane, nic.rate, nic.costs, nic.leaf, nic.numa,
             nic.pcie_switch);
  }
  for (const PcieSwitch& at : topology.pcie_switches) hash.add(at.node, at.uplink_rate);
  for (const Switch& at : topology.switches) {
    hash.add_text(at.name);
    hash.add(at.tier, at.parent, at.site, at.uplink_rate, at.uplink_efficiency_ppm, at.latency_ps,
             at.gateway);
  }
  for (const Site& site : topology.sites) hash.add_text(site.name);
  for (const WanLink& link : topology.wan_links)
    hash.add(link.site_a, link.site_b, link.rate, link.latency_ps);
}

}  // namespace

Digest content_digest(const Job& job) {
  ContentHash hash;
  hash.add_text(job.text);
  hash.add_text(job.name);
  hash.add(job.model_parameters, job.source_groups.size());
  for (const RankGroups& groups : job.source_groups)
    hash.add(groups.rank, groups.stage, groups.data_parallel);
  add(hash, job.topology);
  add(hash, job.problem);
  return hash.finish();
}

}  // namespace transload
