#include "planner/job/what_ifs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "planner/job/more_gpus.h"
#include "planner/job/topology_edits.h"

namespace transload {
namespace {

class WhatIfList {
 public:
  WhatIfList(const Job& job, Discipline discipline, const std::string& base_folder)
      : job_(job), discipline_(discipline), base_folder_(base_folder) {}

  std::vector<WhatIf> make() {
    add_cluster("one more NIC per GPU", ClusterChange::kOneMoreNic);
    add_cluster("NICs of twice the rate", ClusterChange::kTwiceNicRate);
    add_cluster("NVLink domains of twice the size", ClusterChange::kTwiceNvlinkDomain);
    if (!job_.sides.empty()) {
      for (std::size_t side = 1; side < job_.sides.size(); ++side) add_other_tp(side);
      add_more_trainers();
      add_fp8();
    }
    add_discipline();
    add_helpers();
    return std::move(list_);
  }

 private:
  void add(const std::string& change, const std::string& note,
           const std::function<std::vector<JobEdit>()>& edits) {
    WhatIf entry{change, {}, note, ""};
    try {
      entry.edits = edits();
    } catch (const InputError& error) {
      entry.impossible = error.what();
    }
    list_.push_back(std::move(entry));
  }

  void add_cluster(const std::string& change, ClusterChange kind) {
    add(change, "", [&] { return topology_edits(job_.text, base_folder_, kind); });
  }

  std::optional<std::int64_t> number_at(const std::string& key) const {
    const auto value = value_at(job_.text, key, job_.name);
    return value ? std::optional(value->integer_in(1, INT32_MAX)) : std::nullopt;
  }

  // "destination" stays that where the job has one pool that is not written as a list.
  void add_other_tp(std::size_t side) {
    const std::string field = job_.sides[side].field;
    const std::int64_t tp = number_at(field + ".parallel.tp").value_or(1);
    const std::string where = job_.sides.size() > 2 ? field + " with " : "the destination with ";
    for (const std::int64_t other : {tp / 2, tp * 2}) {
      if (other < 1 || other == tp) continue;
      add(fmt::format("{}tp {} instead of {}", where, other, tp), "",
          [&] { return tp_edits(field, tp, other); });
    }
  }

  // Experts that are spread over a whole engine follow its size.
  std::vector<JobEdit> tp_edits(const std::string& field, std::int64_t tp,
                                std::int64_t other) const {
    std::vector<JobEdit> edits = {{field + ".parallel.tp", std::to_string(other)}};
    if (const auto ep = number_at(field + ".parallel.ep"); ep && *ep > 1 && *ep * other % tp == 0)
      edits.push_back({field + ".parallel.ep", std::to_string(*ep * other / tp)});
    return edits;
  }

  void add_more_trainers() {
    const auto now = static_cast<std::int64_t>(job_.sides[0].ranks.size());
    add(fmt::format("twice the trainers ({} GPUs)", 2 * now), "", [&] {
      std::vector<JobEdit> edits = more_gpus(job_, 0, now, base_folder_);
      // What a trainer states of its data parallelism grows with it; the rest follows by itself.
      if (const auto dp = number_at("source.parallel.dp"))
        edits.push_back({"source.parallel.dp", std::to_string(2 * *dp)});
      const std::int64_t replicate = number_at("source.parallel.replicate").value_or(1);
      if (const auto shard = number_at("source.parallel.shard"); replicate > 1)
        edits.push_back({"source.parallel.replicate", std::to_string(2 * replicate)});
      else if (shard)
        edits.push_back({"source.parallel.shard", std::to_string(2 * *shard)});
      return edits;
    });
  }

  // The share of the moved bytes that have 16 bits an element.
  bool mostly_16_bit() const {
    std::int64_t all = 0;
    std::int64_t wide = 0;
    for (const TensorGroup& group : job_.problem.groups) {
      std::int64_t bits = group.count * dtype_bits(group.dtype);
      for (const std::int64_t extent : group.shape) bits *= extent;
      all += bits;
      if (dtype_bits(group.dtype) == 16) wide += bits;
    }
    return 2 * wide > all;
  }

  // The destination's dtype, if it is one that all its shards can store.
  std::vector<JobEdit> stored_as(const std::string& dtype) const {
    std::vector<JobEdit> edits;
    for (std::size_t side = 1; side < job_.sides.size(); ++side)
      edits.push_back({job_.sides[side].field + ".dtype", dtype});
    return edits;
  }

  bool is_accepted(const std::vector<JobEdit>& edits) const {
    try {
      job_from_text(edited_job(job_.text, edits), job_.name, base_folder_);
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  void add_fp8() {
    if (!mostly_16_bit() || !job_.problem.conversions.empty()) return;
    if (job_.strategy.name == "transload" || job_.strategy.name == "p2p") {
      const std::vector<JobEdit> blockwise = stored_as("fp8-block128");
      const bool fits = is_accepted(blockwise);
      add("FP8 on the wire instead of 16 bits",
          fits
              ? "the destination stores fp8-block128: linear layers with their scales, the rest as "
                "it was; conversions count"
              : "the destination stores fp8-e4m3 without scales, because its shards cut blocks of "
                "128 x 128; conversions count",
          [&] { return fits ? blockwise : stored_as("fp8-e4m3"); });
      return;
    }
    add("FP8 on the wire instead of 16 bits",
        "planned as a job whose weights are fp8-e4m3 on both sides: the time of converting them "
        "and their scales do not count",
        [&] {
          std::vector<JobEdit> edits = {{"dtype", "fp8-e4m3"}};
          for (std::size_t side = 1; side < job_.sides.size(); ++side)
            if (value_at(job_.text, job_.sides[side].field + ".dtype", job_.name))
              edits.push_back({job_.sides[side].field + ".dtype", "fp8-e4m3"});
          return edits;
        });
  }

  void add_discipline() {
    if (discipline_ == Discipline::kGroups)
      add("windows instead of groups",
          "an executor that can post one by one: not ncclSend/ncclRecv", [] {
            return std::vector<JobEdit>{{"options.discipline", "windows"}};
          });
    else if (discipline_ == Discipline::kWindows)
      add("groups instead of windows", "what ncclSend/ncclRecv can do", [] {
        return std::vector<JobEdit>{{"options.discipline", "groups"}};
      });
  }

  // GPUs of the job's NVLink domains that take no part and could lend their ports.
  std::size_t idle_neighbours() const {
    std::vector<bool> in_job(job_.topology.gpus.size(), false);
    std::vector<bool> domain(static_cast<std::size_t>(job_.topology.domain_count), false);
    for (const std::vector<Rank>* ranks :
         {&job_.problem.source_ranks, &job_.problem.destination_ranks})
      for (Rank rank : *ranks) {
        const auto r = static_cast<std::size_t>(rank);
        in_job[r] = true;
        domain[static_cast<std::size_t>(job_.topology.gpus[r].domain)] = true;
      }
    std::size_t idle = 0;
    for (std::size_t rank = 0; rank < in_job.size(); ++rank)
      if (!in_job[rank] && domain[static_cast<std::size_t>(job_.topology.gpus[rank].domain)])
        ++idle;
    return idle;
  }

  void add_helpers() {
    using Kind = HelperChoice::Kind;
    const Kind kind = job_.options.helpers.kind;
    const std::size_t idle = idle_neighbours();
    if (idle == 0 || (kind != Kind::kJob && kind != Kind::kNobody)) return;
    add(fmt::format("the {} idle GPUs of the job's NVLink domains help (helpers: domain)", idle),
        "", [] {
          return std::vector<JobEdit>{{"options.helpers", "domain"}};
        });
  }

  const Job& job_;
  Discipline discipline_;
  const std::string& base_folder_;
  std::vector<WhatIf> list_;
};

}  // namespace

std::vector<WhatIf> what_ifs(const Job& job, Discipline discipline,
                             const std::string& base_folder) {
  return WhatIfList(job, discipline, base_folder).make();
}

}  // namespace transload
