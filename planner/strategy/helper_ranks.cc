#include "planner/strategy/helper_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace transload {
namespace {

std::vector<Rank> living(std::vector<Rank> ranks, const Job& job) {
  const std::vector<Rank>& lost = job.membership.ranks;
  std::erase_if(ranks,
                [&](Rank rank) { return std::binary_search(lost.begin(), lost.end(), rank); });
  return ranks;
}

}  // namespace

std::vector<Rank> helper_ranks(const Job& job) {
  const HelperChoice& choice = job.options.helpers;
  if (choice.kind == HelperChoice::Kind::kRanks) {
    if (!choice.ranks.empty() &&
        static_cast<std::size_t>(choice.ranks.back()) >= job.topology.gpus.size())
      throw InputError(fmt::format("{}: options.helpers: there is no rank {}: expected 0 to {}",
                                   job.name, choice.ranks.back(), job.topology.gpus.size() - 1));
    return living(choice.ranks, job);
  }
  if (choice.kind != HelperChoice::Kind::kDomain) return {};
  std::vector<bool> in_job(static_cast<std::size_t>(job.topology.domain_count), false);
  const auto domain = [&](std::size_t rank) {
    return static_cast<std::size_t>(job.topology.gpus[rank].domain);
  };
  for (const std::vector<Rank>* ranks : {&job.problem.source_ranks, &job.problem.destination_ranks})
    for (Rank rank : *ranks) in_job[domain(static_cast<std::size_t>(rank))] = true;
  std::vector<Rank> helpers;
  for (std::size_t rank = 0; rank < job.topology.gpus.size(); ++rank)
    if (in_job[domain(rank)]) helpers.push_back(static_cast<Rank>(rank));
  return living(std::move(helpers), job);
}

MayHelp may_help(const Job& job) {
  using Kind = HelperChoice::Kind;
  const Kind kind = job.options.helpers.kind;
  MayHelp may(job.topology.gpus.size(), kind == Kind::kJob || kind == Kind::kDomain);
  for (Rank rank : job.options.helpers.ranks) may[static_cast<std::size_t>(rank)] = true;
  for (Rank rank : job.membership.ranks) may[static_cast<std::size_t>(rank)] = false;
  return may;
}

}  // namespace transload
