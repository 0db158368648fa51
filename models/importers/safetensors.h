// The header of a *.safetensors file: names, dtypes and shapes of its tensors, without their data.
//
// Layout: 8 bytes of little-endian header length, the header (JSON), the tensors' bytes back to
// back. Whatever the header says is checked against the file's length, so that a file that was cut
// is refused without reading its data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/dtype.h"

namespace transload::importing {

struct HeaderTensor {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  std::int64_t bytes = 0;
  friend bool operator==(const HeaderTensor&, const HeaderTensor&) = default;
};

// By name. InputError: no such file, a header that is longer than the file or than 100 MB (the
// format's own limit), offsets that overlap, leave gaps or pass the end, sizes unlike shape x
// dtype.
std::map<std::string, HeaderTensor> read_safetensors_header(const std::string& path);

}  // namespace transload::importing
