#include "common/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>

#include "common/units.h"

namespace transload {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

const char* kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsNull()) return "nothing";
  return "a scalar";
}

// yaml-cpp follows aliases without limit; a file that nests them doubles in size with every line.
constexpr int kMaxDepth = 64;

void refuse_deep(const YAML::Node& node, const std::string& file, int depth, std::size_t& budget) {
  if (depth > kMaxDepth)
    throw InputError({file, node.Mark().line + 1, ""},
                     fmt::format("nested deeper than {} levels", kMaxDepth));
  if (budget == 0) throw InputError({file, 0, ""}, "more than 20 million values");
  --budget;
  if (node.IsSequence())
    for (const auto& child : node) refuse_deep(child, file, depth + 1, budget);
  if (node.IsMap()) {
    std::set<std::string> keys;
    for (const auto& pair : node) {
      if (!pair.first.IsScalar())
        throw InputError({file, node.Mark().line + 1, ""}, "a key is not a plain word");
      if (!keys.insert(pair.first.Scalar()).second)
        throw InputError({file, pair.first.Mark().line + 1, pair.first.Scalar()},
                         "the key stands twice in one map");
      refuse_deep(pair.second, file, depth + 1, budget);
    }
  }
}

// Sees where the content of each document begins and nothing else.
class DocumentCounter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { is_open_ = false; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { begin(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { begin(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    begin(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark);
  }
  void OnMapEnd() override {}

  const std::vector<YAML::Mark>& starts() const { return starts_; }

 private:
  void begin(const YAML::Mark& mark) {
    if (!is_open_) starts_.push_back(mark);
    is_open_ = true;
  }

  std::vector<YAML::Mark> starts_;
  bool is_open_ = false;
};

// At a stray token (", a") yaml-cpp makes empty documents without end, and LoadAll never returns;
// so no more than two are ever asked for.
void refuse_second_document(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCounter counter;
  if (!parser.HandleNextDocument(counter) || !parser.HandleNextDocument(counter)) return;
  const YAML::Mark& first = counter.starts().front();
  const YAML::Mark& second = counter.starts().back();
  if (first.pos == second.pos)
    throw InputError({file, second.line + 1, ""}, "not valid YAML: nothing may begin like this");
  throw InputError({file, second.line + 1, ""}, "a second document; one file describes one thing");
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string_view>& words) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (std::string_view candidate : words) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

YamlValue::YamlValue(const YAML::Node& node, std::shared_ptr<const std::string> file,
                     std::string field)
    : node_(node), file_(std::move(file)), field_(std::move(field)) {}

YamlValue YamlValue::from_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError({path, 0, ""}, "cannot open the file");
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) throw InputError({path, 0, ""}, "cannot read the file");
  return from_text(text.str(), path);
}

YamlValue YamlValue::from_text(const std::string& text, const std::string& name) {
  auto file = std::make_shared<const std::string>(name);
  try {
    refuse_second_document(text, name);
    const YAML::Node document = YAML::Load(text);
    if (document.IsNull()) throw InputError({name, 1, ""}, "the file is empty; expected a map");
    std::size_t budget = 20'000'000;
    refuse_deep(document, name, 0, budget);
    return {document, std::move(file), ""};
  } catch (const YAML::Exception& error) {
    throw InputError({name, error.mark.is_null() ? 0 : error.mark.line + 1, ""},
                     "not valid YAML: " + error.msg);
  }
}

InputPlace YamlValue::place() const {
  const YAML::Mark mark = node_.Mark();
  return {*file_, mark.is_null() ? 0 : mark.line + 1, field_};
}

void YamlValue::fail(const std::string& problem) const { throw InputError(place(), problem); }

YamlMap YamlValue::map() const {
  if (!node_.IsMap()) fail(fmt::format("expected a map, found {}", kind_of(node_)));
  return YamlMap(*this);
}

std::vector<YamlValue> YamlValue::list() const {
  if (!node_.IsSequence()) fail(fmt::format("expected a list, found {}", kind_of(node_)));
  std::vector<YamlValue> values;
  values.reserve(node_.size());
  for (std::size_t i = 0; i < node_.size(); ++i)
    values.emplace_back(node_[i], file_, fmt::format("{}[{}]", field_, i));
  return values;
}

std::string YamlValue::text() const {
  if (!node_.IsScalar()) fail(fmt::format("expected text, found {}", kind_of(node_)));
  return node_.Scalar();
}

std::int64_t YamlValue::integer() const {
  const std::string word = node_.IsScalar() ? node_.Scalar() : std::string(kind_of(node_));
  const auto value = whole_number(word);
  if (!node_.IsScalar() || !value) fail(fmt::format("expected a whole number, found {}", word));
  return *value;
}

std::int64_t YamlValue::integer_in(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer();
  if (value < low || value > high)
    fail(fmt::format("expected a whole number from {} to {}, found {}", low, high, value));
  return value;
}

double YamlValue::number() const {
  const std::string word = text();
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value))
    fail(fmt::format("expected a number, found {}", word));
  return value;
}

bool YamlValue::boolean() const {
  const std::string word = text();
  if (word == "true" || word == "True" || word == "yes") return true;
  if (word == "false" || word == "False" || word == "no") return false;
  fail(fmt::format("expected true or false, found {}", word));
}

std::int64_t YamlValue::bytes() const {
  if (const auto value = parse_bytes(text())) return *value;
  fail(fmt::format("expected a size such as 4194304 or 4MiB, found {}", text()));
}

std::int64_t YamlValue::rate() const {
  if (const auto value = parse_rate(text())) return *value;
  fail(fmt::format("expected a rate such as 50GB/s or 400Gb/s, found {}", text()));
}

std::int64_t YamlValue::duration_ps() const {
  if (const auto value = parse_duration_ps(text())) return *value;
  fail(fmt::format("expected a time such as 5us or 0.02, found {}", text()));
}

DType YamlValue::dtype() const {
  if (const auto value = parse_dtype(text())) return *value;
  fail(fmt::format("expected a dtype (one of {}), found {}", fmt::join(dtype_names(), ", "),
                   text()));
}

std::string YamlValue::word_of(const std::vector<std::string_view>& words) const {
  std::string word = text();
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  const auto near = nearest_word(word, words);
  fail(fmt::format("expected one of {}, found {}{}", fmt::join(words, ", "), word,
                   near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

std::vector<std::int32_t> YamlValue::index_list(std::int64_t max) const {
  std::vector<std::int32_t> indices;
  const auto add = [&](const YamlValue& item) {
    const std::string word = item.text();
    const std::size_t dash = word.find('-', 1);
    const auto low = whole_number(std::string_view(word).substr(0, dash));
    const auto high =
        dash == std::string::npos ? low : whole_number(std::string_view(word).substr(dash + 1));
    if (!low || !high || *low < 0 || *high < *low)
      item.fail(fmt::format("expected an index or a range such as 0-7, found {}", word));
    if (*high > max) item.fail(fmt::format("{} is past the last one, {}", *high, max));
    for (std::int64_t index = *low; index <= *high; ++index)
      indices.push_back(static_cast<std::int32_t>(index));
  };
  if (is_list()) {
    for (const YamlValue& item : list()) add(item);
  } else {
    add(*this);
  }
  std::vector<std::int32_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end()) fail(fmt::format("{} stands twice in the list", *twin));
  return indices;
}

YamlMap::YamlMap(const YamlValue& value) : value_(value) {}

YamlValue YamlMap::child(const std::string& key, const YAML::Node& node) const {
  InputPlace place = value_.place();
  return {node, std::make_shared<const std::string>(place.file),
          place.field.empty() ? key : place.field + "." + key};
}

bool YamlMap::has(const std::string& key) const {
  const YAML::Node& node = value_.node();
  return static_cast<bool>(node[key]);
}

std::optional<YamlValue> YamlMap::optional(const std::string& key) {
  known_.insert(key);
  const YAML::Node& node = value_.node();
  const YAML::Node found = node[key];
  if (!found) return std::nullopt;
  return child(key, found);
}

YamlValue YamlMap::required(const std::string& key) {
  if (auto value = optional(key)) return *value;
  fail(fmt::format("the key {} is missing", key));
}

std::vector<std::pair<std::string, YamlValue>> YamlMap::entries() {
  std::vector<std::pair<std::string, YamlValue>> pairs;
  for (const auto& pair : value_.node()) {
    const std::string& key = pair.first.Scalar();
    known_.insert(key);
    pairs.emplace_back(key, child(key, pair.second));
  }
  return pairs;
}

std::vector<std::string> YamlMap::unread() const {
  std::vector<std::string> keys;
  for (const auto& pair : value_.node())
    if (known_.count(pair.first.Scalar()) == 0) keys.push_back(pair.first.Scalar());
  return keys;
}

void YamlMap::finish() const {
  for (const auto& pair : value_.node()) {
    const std::string& key = pair.first.Scalar();
    if (known_.count(key) > 0) continue;
    std::vector<std::string_view> known(known_.begin(), known_.end());
    const auto near = nearest_word(key, known);
    InputPlace place = value_.place();
    place.line = pair.first.Mark().line + 1;
    place.field = place.field.empty() ? key : place.field + "." + key;
    throw InputError(place, near
                                ? fmt::format("unknown key (did you mean {}?)", *near)
                                : fmt::format("unknown key; known are {}", fmt::join(known, ", ")));
  }
}

}  // namespace transload
