#include "common/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace transload {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 12> kByteUnits = {{{"B", 1},
                                              {"kB", 1e3},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"PB", 1e15},
                                              {"KiB", 1024.0},
                                              {"MiB", 1048576.0},
                                              {"GiB", 1073741824.0},
                                              {"TiB", 1099511627776.0},
                                              {"PiB", 1125899906842624.0}}};

constexpr std::array<Unit, 5> kBitUnits = {
    {{"b", 0.125}, {"kb", 125}, {"Mb", 125e3}, {"Gb", 125e6}, {"Tb", 125e9}}};

constexpr std::array<Unit, 6> kTimeUnits = {
    {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}, {"min", 60e12}}};

struct Quantity {
  double number;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  Quantity quantity{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, quantity.number);
  if (error != std::errc{} || !std::isfinite(quantity.number) || quantity.number < 0)
    return std::nullopt;
  quantity.unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  while (!quantity.unit.empty() && quantity.unit.front() == ' ') quantity.unit.remove_prefix(1);
  return quantity;
}

std::optional<std::int64_t> scaled(double number, double factor) {
  const double value = std::round(number * factor);
  if (value > 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

template <std::size_t N>
std::optional<std::int64_t> convert(const Quantity& quantity, const std::array<Unit, N>& units) {
  for (const Unit& unit : units)
    if (unit.name == quantity.unit) return scaled(quantity.number, unit.factor);
  return std::nullopt;
}

std::string with_prefix(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.95 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.4g} {}{}", value, kPrefixes[prefix], unit);
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty()) return scaled(quantity->number, 1);
  return convert(*quantity, kByteUnits);
}

std::optional<std::int64_t> parse_rate(std::string_view text) {
  auto quantity = split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty()) return scaled(quantity->number, 1);
  constexpr std::string_view kPerSecond = "/s";
  if (!quantity->unit.ends_with(kPerSecond)) return std::nullopt;
  quantity->unit.remove_suffix(kPerSecond.size());
  if (auto bytes = convert(*quantity, kByteUnits)) return bytes;
  return convert(*quantity, kBitUnits);
}

std::optional<std::int64_t> parse_duration_ps(std::string_view text) {
  const auto quantity = split(text);
  if (!quantity) return std::nullopt;
  if (quantity->unit.empty()) return scaled(quantity->number, 1e12);
  return convert(*quantity, kTimeUnits);
}

std::string format_bytes(double bytes) { return with_prefix(bytes, "B"); }

std::string format_rate(double bytes_per_s) { return with_prefix(bytes_per_s, "B/s"); }

std::string format_seconds(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.4g} us", seconds * 1e6);
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

std::int64_t duration_ps(std::int64_t bytes, std::int64_t bytes_per_s) {
  TRANSLOAD_CHECK(bytes >= 0 && bytes_per_s >= 0, "sizes and rates are not negative");
  if (bytes_per_s == 0) return 0;
  const auto numerator = static_cast<__int128>(bytes) * kPicosecondsPerSecond;
  const __int128 result = (numerator + bytes_per_s - 1) / bytes_per_s;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return result > kMax ? kMax : static_cast<std::int64_t>(result);
}

double to_seconds(std::int64_t picoseconds) { return static_cast<double>(picoseconds) * 1e-12; }

}  // namespace transload
