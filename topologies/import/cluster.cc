#include "topologies/import/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "common/error.h"
#include "topologies/import/nvbandwidth.h"
#include "topologies/import/readers.h"
#include "topologies/import/visible_gpus.h"

namespace transload {
namespace {

template <class T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class Part>
void take(std::optional<Part>& from, std::optional<Part>& to, const char* what,
          const std::string& file) {
  if (!from) return;
  if (to)
    throw InputError(
        {file, 0, ""},
        fmt::format("another file describes {} already; expected one of each kind", what));
  to = std::move(from);
}

class Assembler {
 public:
  explicit Assembler(const ImportAnswers& answers) : answers_(answers) {}

  ImportedCluster assemble(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      ImportFindings findings = read_topology_file(path);
      if (findings.node && !answers_.visible.empty()) keep_visible_gpus(findings, answers_.visible);
      cluster_.files.push_back(path);
      cluster_.kinds.push_back(findings.kind);
      take(findings.node, cluster_.node, "a node", path);
      take(findings.fabric, cluster_.fabric, "a fabric", path);
      append(findings.measurements, cluster_.measurements);
      append(findings.sums, sums_);
      append(findings.ignored, cluster_.ignored);
      append(findings.warnings, cluster_.warnings);
      append(findings.asked, asked_);
    }
    if (cluster_.node) {
      answer_for_node(*cluster_.node);
      if (cluster_.fabric) match_cards(*cluster_.node, *cluster_.fabric);
      choose(*cluster_.node);
    }
    measure_sums();
    for (std::string& question : asked_)
      if (!is_answered(question)) cluster_.asked.push_back(std::move(question));
    return std::move(cluster_);
  }

 private:
  // Sums over all GPUs of a machine are rates once it is known how many there are.
  void measure_sums() {
    const std::int64_t gpus =
        cluster_.node ? static_cast<std::int64_t>(cluster_.node->gpus.size()) : answers_.gpus;
    if (!sums_.empty() && gpus > 0) append(rates_of_sums(sums_, gpus), cluster_.measurements);
  }

  void answer_for_node(ImportedNode& node) {
    for (ImportedGpu& gpu : node.gpus)
      if (!answers_.gpu.empty()) gpu.model = answers_.gpu;
    for (ImportedNic& nic : node.nics)
      if (nic.rate == 0) nic.rate = answers_.nic_rate;
    if (!answers_.nvlink_rate || *answers_.nvlink_rate == 0) return;
    // Somebody says that there is NVLink where the file is silent: then all GPUs share it.
    for (ImportedGpu& gpu : node.gpus)
      if (gpu.nvlink_island == kUnknown) gpu.nvlink_island = 0;
  }

  // Rates of cards come from the fabric where the node's file has none; cards that are not on the
  // fabric are not used.
  void match_cards(ImportedNode& node, ImportedFabric& fabric) {
    std::set<std::string> known;
    for (const ImportedNic& nic : node.nics) known.insert(nic.name);
    std::set<std::string> strange;
    std::map<std::string, std::int64_t> on_fabric;
    bool named = false;
    for (ImportedHost& host : fabric.hosts)
      for (ImportedPort& port : host.ports) {
        if (port.nic.empty()) continue;
        named = true;
        const auto other = answers_.cards.find(port.nic);
        if (other != answers_.cards.end()) port.nic = other->second;
        if (!known.contains(port.nic)) strange.insert(port.nic);
        on_fabric.emplace(port.nic, port.rate);
      }
    if (!named) return;
    if (!strange.empty())
      asked_.push_back(fmt::format(
          "card: which cards of the node ({}) the fabric's cards {} are (--set card.{}={})",
          fmt::join(known, ", "), fmt::join(strange, ", "), *strange.begin(),
          known.empty() ? "NIC" : *known.begin()));
    std::vector<std::string> absent;
    for (ImportedNic& nic : node.nics) {
      const auto found = on_fabric.find(nic.name);
      if (found == on_fabric.end())
        absent.push_back(nic.name);
      else if (nic.rate == 0)
        nic.rate = found->second;
    }
    if (strange.empty() && !absent.empty()) {
      cluster_.ignored.push_back(
          fmt::format("cards that are not on the fabric: {}", fmt::join(absent, ", ")));
      not_on_fabric_ = {absent.begin(), absent.end()};
    }
  }

  void choose(const ImportedNode& node) {
    std::vector<std::string> names;
    for (const ImportedNic& nic : node.nics) names.push_back(nic.name);
    std::vector<std::int32_t> allowed(names.size());
    std::iota(allowed.begin(), allowed.end(), 0);
    if (answers_.given.contains("nics")) allowed = select_nics(names, answers_.nic_filter);
    std::erase_if(allowed, [&](std::int32_t nic) {
      return not_on_fabric_.contains(names[static_cast<std::size_t>(nic)]);
    });
    if (allowed.empty()) {
      cluster_.nics_of_gpu.resize(node.gpus.size());
      if (!names.empty()) asked_.push_back("nics: the filter leaves no NIC of the node");
      return;
    }
    std::vector<std::string> questions;
    cluster_.nics_of_gpu = choose_nics(node, allowed, questions);
    cluster_.nics_of_gpu.resize(node.gpus.size());
    pin_nics(node, answers_.pins, cluster_.nics_of_gpu);
    const bool all_known = std::none_of(cluster_.nics_of_gpu.begin(), cluster_.nics_of_gpu.end(),
                                        [](const auto& nics) { return nics.empty(); });
    if (!all_known) append(questions, asked_);
    append(far_nic_warnings(node, cluster_.nics_of_gpu), cluster_.warnings);
  }

  // A question begins with the key that answers it.
  bool is_answered(const std::string& question) const {
    const auto about = [&](std::string_view key) {
      return question.starts_with(key) && question.size() > key.size() &&
             question[key.size()] == ':';
    };
    if (about("nodes")) return cluster_.node || (answers_.gpus > 0 && answers_.nics_per_gpu > 0);
    if (about("gpus") && cluster_.node) return true;
    if (about("nics")) return answers_.nics_per_gpu > 0 && answers_.nic_rate > 0;
    if (about("nic"))
      return cluster_.node && std::all_of(cluster_.node->nics.begin(), cluster_.node->nics.end(),
                                          [](const ImportedNic& nic) { return nic.rate > 0; });
    for (const char* key : {"gpu", "nvlink", "nvlink_domain", "oversubscription", "gpus"})
      if (about(key)) return answers_.given.contains(key);
    return false;
  }

  const ImportAnswers& answers_;
  ImportedCluster cluster_;
  std::vector<std::string> asked_;
  std::vector<ImportedSum> sums_;
  std::set<std::string> not_on_fabric_;
};

}  // namespace

ImportedCluster assemble(const std::vector<std::string>& paths, const ImportAnswers& answers) {
  return Assembler(answers).assemble(paths);
}

}  // namespace transload
