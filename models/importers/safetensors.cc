#include "models/importers/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "models/importers/json_reader.h"
#include "models/importers/readers.h"

namespace transload::importing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::uint64_t kPrefix = 8;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;

std::uint64_t little_endian(const std::array<char, kPrefix>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kPrefix; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

struct RawHeader {
  std::string text;
  std::int64_t data_bytes = 0;  // of the file behind the header
};

RawHeader read_header(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw InputError({path, 0, ""}, "cannot open the file");
  const std::uint64_t size = fs::file_size(path, error);
  std::ifstream stream(path, std::ios::binary);
  std::array<char, kPrefix> prefix{};
  if (size < kPrefix || !stream.read(prefix.data(), kPrefix))
    throw InputError({path, 0, ""},
                     "not a safetensors file: shorter than the 8 bytes of its header length");
  const std::uint64_t length = little_endian(prefix);
  if (length > kMaxHeader)
    throw InputError({path, 0, ""},
                     fmt::format("not a safetensors file: a header of {} bytes, at most {} are "
                                 "allowed",
                                 length, kMaxHeader));
  if (length > size - kPrefix)
    throw InputError({path, 0, ""},
                     fmt::format("the header has {} bytes, the file only {} behind its length; is "
                                 "the file cut?",
                                 length, size - kPrefix));
  RawHeader header;
  header.text.resize(static_cast<std::size_t>(length));
  if (!stream.read(header.text.data(), static_cast<std::streamsize>(length)))
    throw InputError({path, 0, ""}, "cannot read the file");
  header.data_bytes = static_cast<std::int64_t>(size - kPrefix - length);
  return header;
}

struct Extent {
  std::int64_t begin;
  std::int64_t end;
  std::string name;
};

// Zero-size tensors have begin == end anywhere between two others.
void require_tiling(std::vector<Extent> extents, std::int64_t data_bytes, const std::string& path) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::int64_t at = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != at)
      throw InputError(
          {path, 0, extent.name},
          fmt::format("its data begin at byte {}, the tensor before ends at {}", extent.begin, at));
    at = extent.end;
  }
  if (at != data_bytes)
    throw InputError({path, 0, ""},
                     fmt::format("the tensors take {} bytes, the file holds {}; is the file cut?",
                                 at, data_bytes));
}

}  // namespace

std::map<std::string, HeaderTensor> read_safetensors_header(const std::string& path) {
  const RawHeader header = read_header(path);
  const Json json = parse_json(header.text, path);
  const JsonPlace root(json, path, "");
  root.require_object();
  std::map<std::string, HeaderTensor> tensors;
  std::vector<Extent> extents;
  for (const auto& item : json.items()) {
    if (item.key() == "__metadata__") continue;
    const JsonPlace entry(item.value(), path, item.key());
    HeaderTensor tensor;
    tensor.dtype = entry.at("dtype").dtype();
    tensor.shape = entry.at("shape").shape();
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.shape) elements *= extent;
    tensor.bytes = elements * dtype_bits(tensor.dtype) / 8;
    const std::vector<JsonPlace> offsets = entry.at("data_offsets").list();
    if (offsets.size() != 2) entry.fail("expected data_offsets: [begin, end]");
    const std::int64_t begin = offsets[0].integer_in(0, kMaxBytes);
    const std::int64_t end = offsets[1].integer_in(begin, kMaxBytes);
    if (end - begin != tensor.bytes)
      entry.fail(fmt::format("{} bytes between its data_offsets, shape and dtype make {}",
                             end - begin, tensor.bytes));
    extents.push_back({begin, end, item.key()});
    tensors.emplace(item.key(), std::move(tensor));
  }
  require_tiling(std::move(extents), header.data_bytes, path);
  return tensors;
}

bool is_safetensors(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<char, kPrefix> prefix{};
  char brace = 0;
  if (!stream.read(prefix.data(), kPrefix) || !stream.get(brace)) return false;
  return brace == '{' && little_endian(prefix) < (std::uint64_t{1} << 40) && prefix[7] == 0;
}

}  // namespace transload::importing
