// Sizes, rates and times as people write them ("1GiB", "50GB/s", "5us") and as we print them.
//
// Decimal prefixes are powers of 1000, binary ones (Ki, Mi, Gi, Ti) powers of 1024; `Gb/s` is bits.
// A bare number is bytes, bytes/s or seconds. Results are exact integers: bytes, bytes/s,
// picoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace transload {

inline constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;

// All three return nothing for malformed, negative or out-of-range text.
std::optional<std::int64_t> parse_bytes(std::string_view text);
std::optional<std::int64_t> parse_rate(std::string_view text);         // bytes/s
std::optional<std::int64_t> parse_duration_ps(std::string_view text);  // picoseconds

// "1.342 TB", "96.5 MB", "842.6 ms", "47.5 GB/s": decimal prefixes, four significant digits at
// most.
std::string format_bytes(double bytes);
std::string format_rate(double bytes_per_s);
std::string format_seconds(double seconds);

// Time of `bytes` at `bytes_per_s`, rounded up to a picosecond. A rate of 0 means "costs no time".
std::int64_t duration_ps(std::int64_t bytes, std::int64_t bytes_per_s);

double to_seconds(std::int64_t picoseconds);

}  // namespace transload
