// Slurm's topology.conf: the tree form (SwitchName=) and the block form (BlockName=).
//
// Source of the syntax: Slurm's manual page topology.conf(5). The TopologyPlugin of slurm.conf
// reads one of the two forms, so a file with both is refused. A comment "# NAME=OTHER" before
// topograph's lines tells what the site calls a switch or block; those names are taken where they
// are unique.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/error.h"
#include "common/yaml.h"
#include "topologies/import/hostlist.h"
#include "topologies/import/readers.h"
#include "topologies/import/switch_tree.h"
#include "topologies/import/text_lines.h"

namespace transload {
namespace {

using import_text::lower_case;
using import_text::trimmed;
using import_text::whole_number;
using import_text::words_of;

constexpr std::array<std::string_view, 6> kKeys = {"SwitchName", "Switches",  "Nodes",
                                                   "LinkSpeed",  "BlockName", "BlockSizes"};

// One line of the file, continuations joined.
struct Entry {
  int line = 0;
  std::map<std::string, std::string> values;  // by the spelling in kKeys

  const std::string* find(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }
};

struct SlurmFile {
  std::vector<Entry> entries;
  std::map<std::string, std::string> comment_names;  // what comments call a switch or block
};

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  SlurmFile parse() {
    std::string joined;
    int first_line = 0;
    for (const import_text::TextLine& line : import_text::lines_of(text_)) {
      const std::size_t hash = std::min(line.text.find('#'), line.text.size());
      if (hash < line.text.size()) read_comment(line.text.substr(hash + 1));
      std::string_view said = trimmed(line.text.substr(0, hash));
      const bool goes_on = said.ends_with('\\');
      if (goes_on) said.remove_suffix(1);
      if (joined.empty()) first_line = line.number;
      joined += std::string(said) + " ";
      if (goes_on) continue;
      read_entry(joined, first_line);
      joined.clear();
    }
    if (!joined.empty())
      throw InputError({file_, first_line, ""},
                       "the file ends in a line that goes on (\\): cut off?");
    return std::move(result_);
  }

 private:
  void read_comment(std::string_view comment) {
    comment = trimmed(comment);
    const std::size_t equals = comment.find('=');
    if (equals == std::string_view::npos || words_of(comment).size() != 1) return;
    const std::string_view name = comment.substr(equals + 1);
    if (equals == 0 || name.empty() || import_text::contains(name, "=")) return;
    result_.comment_names.emplace(comment.substr(0, equals), name);
  }

  void read_entry(const std::string& text, int line) {
    Entry entry{line, {}};
    for (const std::string_view word : words_of(text)) {
      const std::size_t equals = word.find('=');
      const std::string key(word.substr(0, equals));
      if (lower_case(key) == "include")
        throw InputError({file_, line, "Include"}, "an included file: give that file itself");
      if (equals == std::string_view::npos)
        throw InputError({file_, line, ""},
                         fmt::format("\"{}\": expected KEY=VALUE without blanks", word));
      const std::string value(word.substr(equals + 1));
      if (value.empty()) throw InputError({file_, line, key}, "no value");
      if (!entry.values.emplace(known_key(key, line), value).second)
        throw InputError({file_, line, key}, "the key stands twice in one line");
    }
    if (!entry.values.empty()) result_.entries.push_back(std::move(entry));
  }

  std::string known_key(const std::string& key, int line) const {
    for (const std::string_view known : kKeys)
      if (lower_case(key) == lower_case(known)) return std::string(known);
    const auto near = nearest_word(key, {kKeys.begin(), kKeys.end()});
    throw InputError({file_, line, key},
                     fmt::format("unknown key{}; a topology.conf has SwitchName, Switches, Nodes, "
                                 "LinkSpeed, BlockName and BlockSizes",
                                 near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }

  const std::string& text_;
  const std::string& file_;
  SlurmFile result_;
};

// The names that are shown: those of the comments, where no two would be one.
class ShownNames {
 public:
  explicit ShownNames(const SlurmFile& slurm) {
    std::map<std::string, int> uses;
    std::map<std::string, std::string> wanted;
    for (const Entry& entry : slurm.entries) {
      const std::string* name = entry.find("SwitchName");
      if (name == nullptr) name = entry.find("BlockName");
      if (name == nullptr) continue;
      const auto comment = slurm.comment_names.find(*name);
      const std::string& shown = comment == slurm.comment_names.end() ? *name : comment->second;
      ++uses[shown];
      wanted[*name] = shown;
    }
    for (const auto& [name, shown] : wanted)
      if (shown != name && uses[shown] == 1) shown_[name] = shown;
  }

  std::string of(const std::string& name) const {
    const auto found = shown_.find(name);
    return found == shown_.end() ? name : found->second;
  }

  std::string sentence() const {
    if (shown_.empty()) return "";
    return fmt::format("{} names of the scheduler give way to those in the comments ({} is {})",
                       shown_.size(), shown_.begin()->first, shown_.begin()->second);
  }

 private:
  std::map<std::string, std::string> shown_;
};

void refuse_key(const Entry& entry, const char* key, const char* form, const std::string& file) {
  if (entry.find(key) != nullptr)
    throw InputError({file, entry.line, key},
                     fmt::format("does not belong to a line of the {}", form));
}

const std::string& one_name(const Entry& entry, const char* key, const std::string& file) {
  const std::string& name = *entry.find(key);
  if (name.find_first_of("[],") != std::string::npos)
    throw InputError({file, entry.line, key},
                     fmt::format("\"{}\": expected the name of one, not a list", name));
  return name;
}

class TreeReader {
 public:
  TreeReader(const SlurmFile& slurm, const std::string& file) : slurm_(slurm), file_(file) {}

  ImportFindings read() {
    const ShownNames names(slurm_);
    ImportedFabric fabric;
    for (const Entry& entry : slurm_.entries) read_switch(entry, fabric);
    fabric.switches = build_switch_tree(listed_, file_);
    for (ImportedSwitch& one : fabric.switches) one.name = names.of(one.name);
    ImportFindings findings;
    findings.kind = "slurm-tree";
    findings.asked = {kAskForNodes, kAskForLinkRates,
                      "nvlink_domain: which nodes share an NVLink domain"};
    if (!names.sentence().empty()) findings.ignored.push_back(names.sentence());
    if (link_speeds_ > 0)
      findings.ignored.push_back(
          fmt::format("LinkSpeed of {} switches: Slurm gives it no unit", link_speeds_));
    const std::string separate = separate_trees(fabric.switches);
    if (!separate.empty()) findings.warnings.push_back(separate);
    findings.fabric = std::move(fabric);
    return findings;
  }

 private:
  void read_switch(const Entry& entry, ImportedFabric& fabric) {
    for (const char* key : {"BlockName", "BlockSizes"}) refuse_key(entry, key, "tree form", file_);
    if (entry.find("SwitchName") == nullptr)
      throw InputError({file_, entry.line, "SwitchName"}, "missing: a line describes one switch");
    NamedSwitch one{one_name(entry, "SwitchName", file_), {}, entry.line};
    const std::string* children = entry.find("Switches");
    const std::string* nodes = entry.find("Nodes");
    if ((children == nullptr) == (nodes == nullptr))
      throw InputError({file_, entry.line, "SwitchName=" + one.name},
                       "expected either Switches= or Nodes=");
    if (entry.find("LinkSpeed") != nullptr) ++link_speeds_;
    if (children != nullptr)
      one.children = expand_hostlist(*children, {file_, entry.line, "Switches"}, budget_);
    if (nodes != nullptr) {
      const InputPlace place{file_, entry.line, "Nodes"};
      for (std::string& name : expand_hostlist(*nodes, place, budget_)) {
        if (!hosts_.insert(name).second)
          throw InputError(place, fmt::format("node {} hangs at two switches; a node of Slurm's "
                                              "tree hangs at one",
                                              name));
        fabric.hosts.push_back(
            {std::move(name), "", {{"", static_cast<std::int32_t>(listed_.size()), 0}}});
      }
    }
    listed_.push_back(std::move(one));
  }

  const SlurmFile& slurm_;
  const std::string& file_;
  std::vector<NamedSwitch> listed_;
  std::set<std::string> hosts_;
  std::int64_t budget_ = kMaxHostlistNames;
  int link_speeds_ = 0;
};

class BlockReader {
 public:
  BlockReader(const SlurmFile& slurm, const std::string& file) : slurm_(slurm), file_(file) {}

  ImportFindings read() {
    const ShownNames names(slurm_);
    ImportFindings findings;
    findings.kind = "slurm-block";
    findings.fabric.emplace();
    for (const Entry& entry : slurm_.entries) {
      for (const char* key : {"SwitchName", "Switches", "LinkSpeed"})
        refuse_key(entry, key, "block form", file_);
      if (entry.find("BlockName") != nullptr) read_block(entry, names, *findings.fabric);
      if (entry.find("BlockSizes") != nullptr) read_sizes(entry, findings);
      if (entry.find("BlockName") == nullptr && entry.find("BlockSizes") == nullptr)
        throw InputError({file_, entry.line, "Nodes"}, "the line names no BlockName");
    }
    findings.asked = {kAskForNodes,
                      "oversubscription: the switches between the blocks, and their rates"};
    findings.warnings.push_back(
        fmt::format("the {} blocks are read as NVLink domains, which is what Slurm's block form is "
                    "for; the file itself does not say it",
                    blocks_.size()));
    if (!names.sentence().empty()) findings.ignored.push_back(names.sentence());
    return findings;
  }

 private:
  void read_block(const Entry& entry, const ShownNames& names, ImportedFabric& fabric) {
    const std::string& block = one_name(entry, "BlockName", file_);
    if (!blocks_.insert(block).second)
      throw InputError({file_, entry.line, "BlockName"},
                       fmt::format("block {} is listed twice", block));
    const std::string* nodes = entry.find("Nodes");
    if (nodes == nullptr)
      throw InputError({file_, entry.line, "BlockName=" + block}, "expected Nodes=");
    const InputPlace place{file_, entry.line, "Nodes"};
    for (std::string& name : expand_hostlist(*nodes, place, budget_)) {
      if (!hosts_.insert(name).second)
        throw InputError(place, fmt::format("node {} is in two blocks", name));
      fabric.hosts.push_back({std::move(name), names.of(block), {}});
    }
  }

  void read_sizes(const Entry& entry, ImportFindings& findings) {
    const std::string& sizes = *entry.find("BlockSizes");
    std::string_view rest = sizes;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const auto size = whole_number(rest.substr(0, comma));
      if (!size || *size == 0)
        throw InputError({file_, entry.line, "BlockSizes"},
                         fmt::format("\"{}\": expected numbers of nodes", sizes));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
    findings.ignored.push_back(fmt::format(
        "BlockSizes={}: how the scheduler cuts blocks, not a part of the fabric", sizes));
  }

  const SlurmFile& slurm_;
  const std::string& file_;
  std::set<std::string> blocks_;
  std::set<std::string> hosts_;
  std::int64_t budget_ = kMaxHostlistNames;
};

int first_line_with(const SlurmFile& slurm, const std::string& key) {
  for (const Entry& entry : slurm.entries)
    if (entry.find(key) != nullptr) return entry.line;
  return 0;
}

}  // namespace

ImportFindings read_slurm_topology(const std::string& text, const std::string& file) {
  const SlurmFile slurm = Parser(text, file).parse();
  const int switch_line = first_line_with(slurm, "SwitchName");
  const int block_line = first_line_with(slurm, "BlockName");
  if (switch_line == 0 && block_line == 0)
    throw InputError({file, 0, ""}, "no SwitchName= and no BlockName= line: not a topology.conf");
  if (switch_line > 0 && block_line > 0)
    throw InputError(
        {file, std::max(switch_line, block_line), ""},
        fmt::format("both forms in one file: SwitchName in line {} (TopologyPlugin=topology/tree) "
                    "and BlockName in line {} (topology/block); give one file of each",
                    switch_line, block_line));
  return switch_line > 0 ? TreeReader(slurm, file).read() : BlockReader(slurm, file).read();
}

}  // namespace transload
