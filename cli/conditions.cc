#include "cli/conditions.h"

#include <fmt/format.h>

#include <utility>

#include "common/units.h"
#include "common/yaml.h"
#include "simulator/sizing/host_sources.h"
#include "simulator/sizing/link_rates.h"
#include "topologies/degrade.h"

namespace transload {
namespace {

bool sources_on_host(const ConditionFlags& flags) {
  if (flags.source_memory == "host") return true;
  if (flags.source_memory == "gpu") return false;
  throw InputError("--source-memory: expected gpu or host, found " + flags.source_memory);
}

double background_of(const ConditionFlags& flags) {
  const double share = flags.background.value_or(0);
  if (!(share >= 0 && share < 1))
    throw InputError(fmt::format(
        "--background: expected a share of each NIC, from 0 to below 1, found {}", share));
  return share;
}

std::string fault_text(const NicFault& fault) {
  if (fault.share_ppm == 0) return fault.nic + " is down";
  return fmt::format("{} runs at {:.4g} % of its rate", fault.nic,
                     100.0 * static_cast<double>(fault.share_ppm) / kPpm);
}

ConditionNotes notes_of(const ConditionFlags& flags, const std::vector<NicFault>& faults) {
  ConditionNotes notes;
  for (const NicFault& fault : faults) notes.push_back(fault_text(fault));
  if (background_of(flags) > 0)
    notes.push_back(fmt::format("other traffic takes {:.4g} % of every NIC, both ways",
                                100 * background_of(flags)));
  if (sources_on_host(flags)) notes.push_back("source weights lie in host memory");
  return notes;
}

// The plan of a job whose topology has been changed already. The plan cache knows jobs by their
// text, which says nothing of the change.
CachedPlan plan_for(Subject& subject, const PlanningFlags& planning, const ConditionFlags& flags) {
  if (!flags.fault && background_of(flags) == 0) return planned(subject, planning);
  const Job& job = *subject.job;
  return {make_plan(job, prepare(job), strategy_choice(job, planning),
                    discipline_choice(job, planning)),
          false};
}

std::vector<NicFault> faults_of(const ConditionFlags& flags) {
  return flags.fault ? parse_nic_faults(*flags.fault, "--fault") : std::vector<NicFault>{};
}

}  // namespace

void add_condition_flags(CLI::App* command, ConditionFlags& flags) {
  command->add_option("--fault", flags.fault,
                      "NICs that are down or slow: node3:nic2=down, =half or =0.25; several "
                      "separated by commas. A job is planned around them, a plan meets them");
  command->add_option("--background", flags.background,
                      "Share of every NIC that other traffic takes, 0 to below 1");
  command
      ->add_option("--source-memory", flags.source_memory,
                   "Where the source weights lie: gpu or host (jobs only)")
      ->capture_default_str();
}

ConditionNotes apply_conditions(const ConditionFlags& flags, Job& job) {
  const std::vector<NicFault> faults = faults_of(flags);
  ConditionNotes notes = notes_of(flags, faults);
  for (std::string& line : apply_faults(faults, job.topology)) notes.push_back(std::move(line));
  if (const double share = background_of(flags); share > 0) take_background(share, job.topology);
  return notes;
}

Plan with_source_memory(Plan plan, const Topology& topology, const ConditionFlags& flags) {
  if (!sources_on_host(flags)) return plan;
  std::vector<std::int64_t> rates;
  for (const Gpu& gpu : topology.gpus) {
    const GpuModel& model = topology.gpu_models[static_cast<std::size_t>(gpu.model)];
    rates.push_back(achieved_rate(model.host_link_rate, model.host_link_ppm));
  }
  return with_host_sources(plan, rates);
}

ConditionedPlan plan_under(Subject subject, const PlanningFlags& planning,
                           const ConditionFlags& flags) {
  if (subject.job) {
    ConditionedPlan result;
    result.notes = naming_file(subject.path, [&] { return apply_conditions(flags, *subject.job); });
    naming_file(subject.path, [&] {
      CachedPlan found = plan_for(subject, planning, flags);
      result.cached = found.hit;
      result.plan = with_source_memory(std::move(found.plan), subject.job->topology, flags);
      return 0;
    });
    return result;
  }
  if (sources_on_host(flags))
    throw InputError(
        {subject.path, 0, "--source-memory"},
        "a plan file does not say how fast its hosts' links are; give the job instead");
  const std::vector<NicFault> faults = faults_of(flags);
  ConditionedPlan result{plan_of(subject, planning), notes_of(flags, faults)};
  std::vector<SlowNic> slow;
  for (const NicFault& fault : faults) slow.push_back({fault.nic, fault.share_ppm});
  naming_file(subject.path, [&] {
    if (!slow.empty()) result.plan = with_slow_nics(result.plan, slow);
    if (const double share = background_of(flags); share > 0)
      result.plan = with_background(result.plan, share);
    return 0;
  });
  if (!result.notes.empty())
    result.notes.push_back("the plan and its bound were made without knowing of this");
  return result;
}

}  // namespace transload
