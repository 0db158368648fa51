// Output of NVIDIA's nvbandwidth: one sum per test, and the matrix behind it where it was kept.
//
// A sum adds all GPUs, or all ordered pairs of GPUs, so it becomes the rate of one link only by
// their number. The matrices tell it; where only the SUM lines were kept, the user has to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

struct NvbandwidthTest {
  std::string name;       // "device_to_device_memcpy_read_ce"
  std::int64_t sum = 0;   // GB/s as bytes/s; latency tests: ns as ps
  std::int32_t gpus = 0;  // columns of its matrix; 0: no matrix in the file
  int line = 0;
};

// Throws InputError where a SUM line has another form or none is there, and where matrices of
// different widths stand in one file.
std::vector<NvbandwidthTest> parse_nvbandwidth(const std::string& text, const std::string& file);

// The sums that say what one link reaches: NVLink by copy engine ("nvlink"), the host link in each
// direction ("host"), and copies inside one GPU ("copy": bytes read and written together, which is
// twice what nvbandwidth counts). Tests with both directions at once and with many GPUs at one port
// measure other things and give nothing.
std::vector<ImportedSum> nvbandwidth_sums(const std::vector<NvbandwidthTest>& tests);

// What one of `gpus` GPUs (at least 1) reaches: each sum over its number of GPUs or ordered pairs,
// the slowest of each link. A single GPU has no pairs; sums over them are left out.
std::vector<ImportedMeasurement> rates_of_sums(const std::vector<ImportedSum>& sums,
                                               std::int32_t gpus);

}  // namespace transload
