// ibnetdiscover: the cables of an InfiniBand fabric, made into switches by tier and hosts with
// their cards.
//
// The tool knows ports and cables, not hosts: a card's host is the first of the two words that its
// node description has by default ("node12 mlx5_3"). Cards that describe themselves otherwise are
// reported and left out, as nothing says whose they are. Tiers come from the cables: switches at
// which cards hang are tier 1, others by their distance from those; what switches are called does
// not matter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/error.h"
#include "topologies/import/ibnetdiscover_records.h"
#include "topologies/import/readers.h"
#include "topologies/import/switch_tree.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using Kind = IbRecord::Kind;

struct CardName {
  std::string host;  // empty: the description names none
  std::string card;
};

// "node12 mlx5_3" and "node12 HCA-6"; a card without a host is described by its model, such as
// "MT4129 ConnectX7   Mellanox Technologies".
CardName card_name(const std::string& description) {
  const auto words = import_text::words_of(description);
  if (words.size() != 2) return {};
  const std::string_view card = words[1];
  const bool numbered = card.back() >= '0' && card.back() <= '9';
  const bool is_model =
      words[0].starts_with("MT") && import_text::whole_number(words[0].substr(2)).has_value();
  if (!numbered || is_model) return {};
  return {std::string(words[0]), std::string(card)};
}

// SHARP's processors of collectives inside a switch: neither a host nor a card.
bool is_aggregation_node(const IbRecord& record) {
  return record.kind == Kind::kCard &&
         import_text::contains(record.description, "Aggregation Node");
}

class FabricMaker {
 public:
  FabricMaker(const std::vector<IbRecord>& records, const std::string& file)
      : records_(records), file_(file) {
    for (std::size_t i = 0; i < records.size(); ++i) record_of_[records[i].id] = i;
  }

  ImportFindings make() {
    findings_.kind = "ibnetdiscover";
    add_switches();
    if (fabric_.switches.empty())
      throw InputError({file_, 0, ""},
                       fmt::format("{} card{} and no switch: the output is cut off, or it was made "
                                   "at a port that is down",
                                   records_.size(), records_.size() == 1 ? "" : "s"));
    add_hosts();
    if (fabric_.hosts.empty() && unnamed_.empty())
      throw InputError({file_, 0, ""},
                       "no card of a host hangs at any switch: the output is cut off, or made "
                       "before the hosts were there");
    refuse_doubles();
    set_tiers();
    add_links();
    report();
    findings_.fabric = std::move(fabric_);
    return std::move(findings_);
  }

 private:
  const IbRecord& peer_of(const IbCable& cable) const {
    return records_[record_of_.at(cable.peer)];
  }

  // "MF0;leaf-01:MQM9700/U1" is called "leaf-01" where no other switch is.
  static std::string short_name(const IbRecord& record) {
    std::string_view name = record.description;
    const std::size_t semicolon = name.find(';');
    if (semicolon != std::string_view::npos) name.remove_prefix(semicolon + 1);
    name = name.substr(0, std::min(name.find(':'), name.size()));
    return name.empty() ? record.id : std::string(name);
  }

  void add_switches() {
    std::map<std::string, int> uses;
    for (const IbRecord& record : records_)
      if (record.kind == Kind::kSwitch) ++uses[short_name(record)];
    for (const IbRecord& record : records_) {
      if (record.kind != Kind::kSwitch) continue;
      switch_of_[record.id] = static_cast<std::int32_t>(fabric_.switches.size());
      std::string name = short_name(record);
      if (uses[name] > 1) name += " " + record.id;
      fabric_.switches.push_back({std::move(name), kUnknown, {}, {}});
      switch_records_.push_back(&record);
    }
  }

  bool has_cards(const IbRecord& one) const {
    return std::any_of(one.cables.begin(), one.cables.end(), [&](const IbCable& cable) {
      const IbRecord& peer = peer_of(cable);
      return peer.kind == Kind::kCard && !is_aggregation_node(peer);
    });
  }

  // Breadth first from all switches with cards.
  void set_tiers() {
    std::vector<std::int32_t> queue;
    for (std::size_t i = 0; i < switch_records_.size(); ++i) {
      if (!has_cards(*switch_records_[i])) continue;
      fabric_.switches[i].tier = 1;
      queue.push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t done = 0; done < queue.size(); ++done) {
      const auto near = static_cast<std::size_t>(queue[done]);
      for (const IbCable& cable : switch_records_[near]->cables) {
        const auto far = switch_of_.find(cable.peer);
        if (far == switch_of_.end()) continue;
        ImportedSwitch& next = fabric_.switches[static_cast<std::size_t>(far->second)];
        if (next.tier != kUnknown) continue;
        next.tier = fabric_.switches[near].tier + 1;
        queue.push_back(far->second);
      }
    }
  }

  // Cables between the same two switches are one link with their rates added.
  void add_links() {
    for (std::size_t i = 0; i < switch_records_.size(); ++i) {
      ImportedSwitch& below = fabric_.switches[i];
      std::map<std::int32_t, std::int64_t> rates;
      for (const IbCable& cable : switch_records_[i]->cables) {
        const auto peer = switch_of_.find(cable.peer);
        if (peer == switch_of_.end()) continue;
        const std::int32_t tier = fabric_.switches[static_cast<std::size_t>(peer->second)].tier;
        if (tier == below.tier) ++half_level_cables_;
        if (tier == below.tier + 1) rates[peer->second] += cable.rate;
      }
      for (const auto& [parent, rate] : rates) {
        below.parents.push_back(parent);
        below.parent_rates.push_back(rate);
      }
    }
  }

  void add_hosts() {
    for (const IbRecord& record : records_) {
      if (record.kind == Kind::kRouter) ++routers_;
      if (record.kind != Kind::kCard) continue;
      if (is_aggregation_node(record)) {
        ++aggregation_nodes_;
        continue;
      }
      const CardName name = card_name(record.description);
      if (name.host.empty())
        ++unnamed_[record.description];
      else
        add_card(record, name);
    }
  }

  void add_card(const IbRecord& record, const CardName& name) {
    const auto [found, is_new] = host_of_.emplace(name.host, fabric_.hosts.size());
    if (is_new) fabric_.hosts.push_back({name.host, "", {}});
    cards_[{name.host, name.card}].push_back(record.id);
    ImportedHost& host = fabric_.hosts[found->second];
    for (const IbCable& cable : record.cables) {
      const auto leaf = switch_of_.find(cable.peer);
      if (leaf == switch_of_.end()) {
        ++direct_cables_;
        continue;
      }
      std::string nic = name.card;
      if (record.cables.size() > 1) nic += fmt::format(":{}", cable.port);
      host.ports.push_back({std::move(nic), leaf->second, cable.rate});
    }
  }

  // Two cards of one name in one host are two hosts that call themselves alike.
  void refuse_doubles() {
    std::set<std::string> doubled;
    for (const auto& [card, ids] : cards_)
      if (ids.size() > 1) doubled.insert(card.first);
    if (doubled.empty()) return;
    std::vector<ImportedHost> kept;
    for (ImportedHost& host : fabric_.hosts)
      if (!doubled.contains(host.name)) kept.push_back(std::move(host));
    fabric_.hosts = std::move(kept);
    findings_.asked.push_back(
        fmt::format("which cards belong together: several machines call themselves {} (two cards "
                    "have one name); they are left out",
                    fmt::join(doubled, ", ")));
  }

  void report() {
    if (aggregation_nodes_ > 0)
      findings_.ignored.push_back(fmt::format(
          "{} aggregation nodes (SHARP): parts of switches, not of hosts", aggregation_nodes_));
    if (routers_ > 0)
      findings_.ignored.push_back(fmt::format("{} routers to other fabrics", routers_));
    if (direct_cables_ > 0)
      findings_.ignored.push_back(
          fmt::format("{} ends of cables between two cards, without a switch", direct_cables_));
    report_unnamed();
    report_switches();
    ask_about_card_counts();
    if (host_of_.contains("localhost"))
      findings_.warnings.push_back(
          "a host calls itself localhost: a machine without a name of its own");
    findings_.asked.push_back(kAskForNodes);
    findings_.asked.push_back("nvlink_domain: which nodes share an NVLink domain");
  }

  void report_unnamed() {
    int count = 0;
    for (const auto& [description, cards] : unnamed_) count += cards;
    if (count == 0) return;
    findings_.asked.push_back(fmt::format(
        "the hosts of {} cards that name none (they call themselves \"{}\"{}); they are left out",
        count, unnamed_.begin()->first, unnamed_.size() > 1 ? " and otherwise" : ""));
  }

  void report_switches() {
    std::vector<ImportedSwitch>& all = fabric_.switches;
    std::vector<std::string> lost;
    for (ImportedSwitch& one : all) {
      if (one.tier != kUnknown) continue;
      lost.push_back(one.name);
      one.tier = 1;
    }
    if (!lost.empty())
      findings_.warnings.push_back(
          fmt::format("switches from which no cable leads to a card: {}", fmt::join(lost, ", ")));
    if (half_level_cables_ > 0)
      findings_.warnings.push_back(fmt::format(
          "{} cables join two switches of one tier and are left out: the fabric is no tree of "
          "tiers, or a card hangs at a spine",
          half_level_cables_ / 2));
  }

  // Management hosts and hosts with cards down look the same here: fewer cards than the rest.
  void ask_about_card_counts() {
    std::map<std::size_t, std::vector<std::string>> by_count;
    for (const ImportedHost& host : fabric_.hosts) by_count[host.ports.size()].push_back(host.name);
    if (by_count.size() < 2) return;
    std::vector<std::string> parts;
    parts.reserve(by_count.size());
    for (const auto& [count, hosts] : by_count)
      parts.push_back(
          fmt::format("{} with {}{}", hosts.size(), count,
                      hosts.size() <= 3 ? fmt::format(" ({})", fmt::join(hosts, ", ")) : ""));
    findings_.asked.push_back(fmt::format(
        "which hosts have GPUs: they have unlike numbers of ports ({})", fmt::join(parts, "; ")));
  }

  const std::vector<IbRecord>& records_;
  const std::string& file_;
  ImportFindings findings_;
  ImportedFabric fabric_;
  std::map<std::string, std::size_t> record_of_;
  std::map<std::string, std::int32_t> switch_of_;
  std::vector<const IbRecord*> switch_records_;
  std::map<std::string, std::size_t> host_of_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> cards_;
  std::map<std::string, int> unnamed_;
  int aggregation_nodes_ = 0;
  int routers_ = 0;
  int direct_cables_ = 0;
  int half_level_cables_ = 0;
};

}  // namespace

ImportFindings read_ibnetdiscover(const std::string& text, const std::string& file) {
  const std::vector<IbRecord> records = read_ibnetdiscover_records(text, file);
  if (records.empty())
    throw InputError({file, 0, ""}, "no Switch and no Ca: not an output of ibnetdiscover");
  return FabricMaker(records, file).make();
}

}  // namespace transload
