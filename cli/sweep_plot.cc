#include "cli/sweep_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "common/error.h"
#include "common/units.h"
#include "planner/schedule/render/style.h"

namespace transload {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLines = 12;
constexpr double kWidth = 900;
constexpr double kHeight = 560;
constexpr double kLeft = 80;
constexpr double kRight = 270;  // room for the legend
constexpr double kTop = 60;
constexpr double kBottom = 70;
constexpr std::array kColours = {"#0072B2", "#D55E00", "#009E73", "#A8487F", "#B87700", "#56B4E9",
                                 "#6B6B6B", "#1F2933", "#CC79A7", "#4A7FA5", "#8C6D31", "#3B7A57"};

struct Mark {
  double seconds = 0;
  bool simulated = false;
};

struct Line {
  std::map<std::size_t, Mark> marks;  // by step of the axis; the least of several
  bool bound = false;

  void add(std::size_t step, double seconds, bool simulated) {
    const auto [entry, added] = marks.try_emplace(step, Mark{seconds, simulated});
    if (!added && seconds < entry->second.seconds) entry->second = {seconds, simulated};
  }
};

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<double> number_of(const std::string& label) {
  const Json parsed = Json::parse(label, nullptr, false);
  if (!parsed.is_number()) return std::nullopt;
  return parsed.get<double>();
}

class Plot {
 public:
  Plot(const Sweep& sweep, const Json& rows) : sweep_(sweep), rows_(rows), axis_(plot_axis(sweep)) {
    gather(true);
    if (lines_.size() > kMostLines) {
      lines_.clear();
      merged_ = true;
      gather(false);
    }
    place_steps();
    find_scale();
  }

  std::string svg() const {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
        "height=\"{1:g}\" font-family=\"{2}\" font-size=\"13\" fill=\"{3}\">\n",
        kWidth, kHeight, render::kFont, render::kTextColour);
    out +=
        fmt::format("<rect width=\"{:g}\" height=\"{:g}\" fill=\"#FFFFFF\"/>\n", kWidth, kHeight);
    out += fmt::format("<text x=\"{:g}\" y=\"26\" font-size=\"17\">{}: refit time over {}</text>\n",
                       kLeft, render::xml_escaped(sweep_.name), render::xml_escaped(axis_name()));
    out += fmt::format("<text x=\"{:g}\" y=\"45\" fill=\"{}\">{}</text>\n", kLeft,
                       render::kQuietColour, render::xml_escaped(caption()));
    out += grid();
    std::size_t number = 0;
    for (const auto& [name, line] : lines_) {
      out += drawn(line, kColours[number % kColours.size()]);
      out += legend(name, line, kColours[number % kColours.size()], number);
      ++number;
    }
    return out + "</svg>\n";
  }

 private:
  const std::string& axis_name() const { return sweep_.axes[axis_].name; }

  std::string caption() const {
    std::string text = "full marks simulated, hollow ones estimated; dashed: no schedule is faster";
    if (merged_) text += "; the best over the other axes";
    return text;
  }

  // The other axes of a row, in words.
  std::string others_of(const Json& row) const {
    std::string text;
    for (std::size_t i = 0; i < sweep_.axes.size(); ++i) {
      if (i == axis_ || sweep_.axes[i].labels.size() < 2) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sweep_.axes[i].name,
                          text_of(row.at("values").at(sweep_.axes[i].name)));
    }
    return text;
  }

  void gather(bool apart) {
    for (const Json& row : rows_) {
      if (row.at("seconds").is_null()) continue;
      const std::string label = text_of(row.at("values").at(axis_name()));
      const auto& labels = sweep_.axes[axis_].labels;
      const auto found = std::find_if(labels.begin(), labels.end(), [&](const std::string& each) {
        // Numbers may be printed otherwise than they were written.
        return each == label || (number_of(each) && number_of(each) == number_of(label));
      });
      if (found == labels.end()) continue;
      const auto step = static_cast<std::size_t>(found - labels.begin());
      const std::string others = apart ? others_of(row) : "";
      const std::string behind = others.empty() ? "" : ", " + others;
      std::string name = row.at("strategy");
      if (!row.at("mode").is_null()) name += ":" + row.at("mode").get<std::string>();
      lines_[name + behind].add(step, row.at("seconds"), row.at("figure") == "simulated");
      if (row.at("bound_s").is_null() || row.at("bound_s").get<double>() <= 0) continue;
      Line& bound = lines_["bound" + behind];
      bound.bound = true;
      bound.add(step, row.at("bound_s"), true);
    }
    if (lines_.empty()) throw InputError("nothing to draw: no point of the sweep has a figure");
  }

  // Where each step lies from left to right, 0 to 1: by value where all are numbers.
  void place_steps() {
    const auto& labels = sweep_.axes[axis_].labels;
    std::vector<double> values;
    for (const std::string& label : labels)
      if (const auto number = number_of(label)) values.push_back(*number);
    const bool numeric = values.size() == labels.size();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!numeric) {
        places_.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(labels.size()));
        continue;
      }
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      const double share = *high > *low ? (values[i] - *low) / (*high - *low) : 0.5;
      places_.push_back(0.04 + 0.92 * share);
    }
  }

  void find_scale() {
    low_ = 1e300;
    for (const auto& [name, line] : lines_)
      for (const auto& [step, mark] : line.marks) {
        low_ = std::min(low_, std::log10(std::max(mark.seconds, 1e-12)));
        high_ = std::max(high_, std::log10(std::max(mark.seconds, 1e-12)));
      }
    const double margin = std::max(0.05, 0.05 * (high_ - low_));
    low_ -= margin;
    high_ += margin;
  }

  double x_of(std::size_t step) const { return kLeft + places_[step] * (kWidth - kLeft - kRight); }
  double y_of(double seconds) const {
    const double share = (std::log10(std::max(seconds, 1e-12)) - low_) / (high_ - low_);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }

  // 1, 2 and 5 of every power of ten that is in sight.
  std::string grid() const {
    std::string out;
    for (int power = static_cast<int>(std::floor(low_));
         power <= static_cast<int>(std::ceil(high_)); ++power)
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double seconds = digit * std::pow(10.0, power);
        if (std::log10(seconds) < low_ || std::log10(seconds) > high_) continue;
        const double y = y_of(seconds);
        out += fmt::format(
            "<line x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#E3E7EB\"/>\n"
            "<text x=\"{3:g}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
            kLeft, kWidth - kRight, y, kLeft - 8, y + 4, format_seconds(seconds));
      }
    const auto& labels = sweep_.axes[axis_].labels;
    for (std::size_t i = 0; i < labels.size(); ++i)
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n",
                         x_of(i), kHeight - kBottom + 20, render::xml_escaped(labels[i]));
    out += fmt::format(
        "<line x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:g}\" y2=\"{2:g}\" stroke=\"{3}\"/>\n"
        "<text x=\"{4:g}\" y=\"{5:g}\" text-anchor=\"middle\">{6}</text>\n",
        kLeft, kWidth - kRight, kHeight - kBottom, render::kQuietColour,
        (kLeft + kWidth - kRight) / 2, kHeight - kBottom + 44, render::xml_escaped(axis_name()));
    return out;
  }

  std::string drawn(const Line& line, const char* colour) const {
    // From left to right, whatever the order of the values in the file.
    std::vector<std::size_t> steps;
    for (const auto& [step, mark] : line.marks) steps.push_back(step);
    std::stable_sort(steps.begin(), steps.end(),
                     [this](std::size_t a, std::size_t b) { return places_[a] < places_[b]; });
    std::string points;
    std::string out;
    for (const std::size_t step : steps) {
      const Mark& mark = line.marks.at(step);
      points +=
          fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x_of(step), y_of(mark.seconds));
      if (!line.bound)
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" stroke=\"{}\" fill=\"{}\"/>\n", x_of(step),
            y_of(mark.seconds), colour, mark.simulated ? colour : "#FFFFFF");
    }
    return fmt::format(
               "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n",
               points, colour, line.bound ? " stroke-dasharray=\"6 4\"" : "") +
           out;
  }

  static std::string legend(const std::string& name, const Line& line, const char* colour,
                            std::size_t number) {
    const double y = kTop + 10 + 20 * static_cast<double>(number);
    const double x = kWidth - kRight + 16;
    return fmt::format(
        "<line x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:g}\" y2=\"{2:g}\" stroke=\"{3}\" "
        "stroke-width=\"2\"{4}/>\n<text x=\"{5:g}\" y=\"{6:g}\">{7}</text>\n",
        x, x + 24, y, colour, line.bound ? " stroke-dasharray=\"6 4\"" : "", x + 30, y + 4,
        render::xml_escaped(name));
  }

  const Sweep& sweep_;
  const Json& rows_;
  std::size_t axis_;
  std::map<std::string, Line> lines_;
  bool merged_ = false;
  std::vector<double> places_;
  double low_ = 0;
  double high_ = -1e300;
};

bool changes_nodes(const SweepAxis& axis) {
  return std::any_of(axis.keys.begin(), axis.keys.end(), [](const std::string& key) {
    return key.starts_with("topology") && (key.ends_with(".nodes") || key.ends_with(".racks"));
  });
}

bool is_numeric(const SweepAxis& axis) {
  return axis.labels.size() > 1 &&
         std::all_of(axis.labels.begin(), axis.labels.end(),
                     [](const std::string& label) { return number_of(label).has_value(); });
}

}  // namespace

std::size_t plot_axis(const Sweep& sweep) {
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    if (sweep.axes[i].name == sweep.plot_axis) return i;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    if (changes_nodes(sweep.axes[i])) return i;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    if (is_numeric(sweep.axes[i])) return i;
  return 0;
}

std::string sweep_svg(const Sweep& sweep, const nlohmann::json& rows) {
  return Plot(sweep, rows).svg();
}

}  // namespace transload
