// Memory views, stored orders and shared buffers that cannot be right.
#include "tests/planner/job/bad_side.h"

namespace transload::testing {
namespace {

class BadMemory : public ::testing::TestWithParam<BadSide> {};
TEST_P(BadMemory, AreRefused) {
  expect_words(message_of(with(kSource, GetParam().side)), GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, BadMemory,
    ::testing::Values(
        BadSide{"DimsNotAPermutation",
                kMesh + ", dims: [row, row]}",
                {kAt + ".dims[1]", "row stands twice"}},
        BadSide{"DimsTooFew", kMesh + ", dims: [column]}", {kAt + ".dims", "all 2 dimensions"}},
        BadSide{"DimsUnknown",
                kMesh + ", dims: [column, rows]}",
                {kAt + ".dims[1]", "did you mean row?"}},
        BadSide{"MemoryOfWrongType", kMesh + ", memory: qkv}", {kAt + ".memory", "a map"}},
        BadSide{"MemoryOfUnknownKey",
                kMesh + ", memory: {stride: [1]}}",
                {kAt + ".memory.stride", "did you mean strides?"}},
        BadSide{"TooFewStrides",
                kMesh + ", memory: {strides: [6]}}",
                {kTensorSource + ", rank 0", "1 strides; expected 2"}},
        BadSide{"NegativeStride",
                kMesh + ", memory: {strides: [-6, 1]}}",
                {kAt + ".memory.strides[0]", "-6"}},
        BadSide{"StridesOfEqualAddresses",
                kMesh + ", memory: {strides: [0, 1]}}",
                {kTensorSource + ", rank 0", "tensor w overlaps tensor w at byte 0"}},
        BadSide{"StridesThatLeaveMemory",
                kMesh + ", memory: {strides: [1125899906842624, 1125899906842624]}}",
                {kTensorSource, "rank 0", "the strides span"}},
        BadSide{"FactorsThatDoNotMakeTheExtent",
                kMesh + ", memory: {factors: {1: [2, 2]}, strides: [6, 3, 1]}}",
                {kTensorSource + ", rank 0",
                 "the factors of dimension 1 make 4, its local length "
                 "is 6"}},
        BadSide{"FactorsTakeAStrideEach",
                kMesh + ", memory: {factors: {1: [2, 3]}, strides: [6, 1]}}",
                {kTensorSource + ", rank 0", "2 strides; expected 3"}},
        BadSide{"FactorZero",
                kMesh + ", memory: {factors: {1: [2, 0]}}}",
                {kAt + ".memory.factors.1[1]", "found 0"}},
        BadSide{"FactorsOfNothing",
                kMesh + ", memory: {factors: {1: []}}}",
                {kAt + ".memory.factors.1", "at least one factor"}},
        BadSide{"FactorsOfUnknownDimension",
                kMesh + ", memory: {factors: {2: [2, 3]}}}",
                {kAt + ".memory.factors.2", "dimension from 0 to 1"}},
        BadSide{"OffsetWithoutBuffer",
                kMesh + ", memory: {offset: 64}}",
                {kAt + ".memory.offset", "name the buffer that it counts from"}},
        BadSide{"OffsetNegative",
                kMesh + ", memory: {buffer: b, offset: -4}}",
                {kAt + ".memory.offset", "-4"}},
        BadSide{"OffsetOfUnknownRank",
                kMesh + ", memory: {buffer: b, offset: {8: 0}}}",
                {kAt + ".memory.offset.8", "rank from 0 to 7"}},
        BadSide{"OffsetWithoutTensor",
                kMesh + ", memory: {buffer: b, offset: 64}}",
                {"buffer b, source, rank 0", "bytes 0 to 64 belong to no tensor"}},
        BadSide{"BlockwiseSource",
                kMesh + ", dtype: mxfp8}",
                {kAt + ".dtype", "a blockwise type on the source"}},
        BadSide{"UnknownDtype", kMesh + ", dtype: bf17}", {kAt + ".dtype", "bf17"}}),
    name_of);

// Tensors a and b of 16 bytes each, whole, in one destination buffer; the destination's memory and
// the job's `buffers` (on the last line, 5) vary.
std::string two_in_a_buffer(const std::string& memory_of_b, const std::string& buffers = "") {
  const auto one = [](const std::string& name, const std::string& memory) {
    return "  - {name: " + name +
           ", shape: [4], dtype: fp32, source: {mesh: {x: 1}, ranks: 0, placements: [R]}, "
           "destination: {mesh: {x: 1}, ranks: 3, placements: [R], memory: " +
           memory + "}}\n";
  };
  return "topology: {nodes: [{gpus: 8, nic: 50GB/s, nvlink: 450GB/s}]}\ntensors:\n" +
         one("a", "{buffer: ab}") + one("b", memory_of_b) + buffers;
}
constexpr const char* kBehind = "{buffer: ab, offset: 16}";

struct BadBuffer {
  std::string name;
  std::string memory_of_b;
  std::string buffers;
  std::vector<std::string> words;
  friend void PrintTo(const BadBuffer& bad, std::ostream* out) {
    *out << bad.memory_of_b << ' ' << bad.buffers;
  }
};

class BadBuffers : public ::testing::TestWithParam<BadBuffer> {};
TEST_P(BadBuffers, AreRefused) {
  const BadBuffer& bad = GetParam();
  expect_words(message_of(two_in_a_buffer(bad.memory_of_b, bad.buffers)), bad.words);
}

TEST(BadBuffer, TheJobsThatTheseEditsSpoilAreGood) {
  EXPECT_EQ(message_of(two_in_a_buffer(kBehind)), "accepted");
  EXPECT_EQ(message_of(two_in_a_buffer(kBehind, "buffers: {ab: {bytes: 32}}\n")), "accepted");
  EXPECT_EQ(message_of(two_in_a_buffer("{buffer: ab, offset: 24}",
                                       "buffers: {ab: {bytes: {3: 64}, padding: [[16, 24], [40, "
                                       "64]], fill: zero}}\n")),
            "accepted");
}

const std::string kBufferOfRank = "buffer ab, destination, rank 3";

INSTANTIATE_TEST_SUITE_P(
    Memory, BadBuffers,
    ::testing::Values(
        BadBuffer{"SamePlace",
                  "{buffer: ab}",
                  "",
                  {kBufferOfRank, "tensor b overlaps tensor a at byte 0"}},
        BadBuffer{"Overlap",
                  "{buffer: ab, offset: 12}",
                  "",
                  {kBufferOfRank, "tensor b overlaps tensor a at byte 12"}},
        BadBuffer{"Gap",
                  "{buffer: ab, offset: 20}",
                  "",
                  {kBufferOfRank, "bytes 16 to 20 belong to no tensor"}},
        BadBuffer{"LeavesIt",
                  kBehind,
                  "buffers: {ab: {bytes: 30}}\n",
                  {kBufferOfRank, "tensor b ends at byte 32, the buffer has 30"}},
        BadBuffer{"BytesLeft",
                  kBehind,
                  "buffers: {ab: {bytes: 48}}\n",
                  {kBufferOfRank, "bytes 32 to 48 belong to no tensor"}},
        BadBuffer{"PaddingOverATensor",
                  kBehind,
                  "buffers: {ab: {bytes: 32, padding: [[8, 16]]}}\n",
                  {kBufferOfRank, "padding overlaps tensor a at byte 8"}},
        BadBuffer{"PaddingTwice",
                  kBehind,
                  "buffers: {ab: {bytes: 48, padding: [[32, 48], [40, 48]]}}\n",
                  {kBufferOfRank, "padding overlaps padding at byte 40"}},
        BadBuffer{"PaddingPastTheEnd",
                  kBehind,
                  "buffers: {ab: {bytes: 40, padding: [[32, 48]]}}\n",
                  {kBufferOfRank, "padding ends at byte 48, the buffer has 40"}},
        BadBuffer{"PaddingBackwards",
                  kBehind,
                  "buffers: {ab: {bytes: 40, padding: [[40, 32]]}}\n",
                  {"job.yaml:5: buffers.ab.padding[0][1]", "found 32"}},
        BadBuffer{"PaddingOfOneBound",
                  kBehind,
                  "buffers: {ab: {bytes: 40, padding: [[40]]}}\n",
                  {"job.yaml:5: buffers.ab.padding[0]", "[low, high], in bytes"}},
        BadBuffer{"NobodysBuffer",
                  kBehind,
                  "buffers: {ac: {bytes: 32}}\n",
                  {"job.yaml:5: buffers.ac", "no tensor lies in a buffer called ac"}},
        BadBuffer{"BytesMissing",
                  kBehind,
                  "buffers: {ab: {padding: []}}\n",
                  {"job.yaml:5: buffers.ab", "bytes is missing"}},
        BadBuffer{"BytesOfWrongType",
                  kBehind,
                  "buffers: {ab: {bytes: many}}\n",
                  {"job.yaml:5: buffers.ab.bytes", "a size such as", "many"}},
        BadBuffer{"BytesOfUnknownRank",
                  kBehind,
                  "buffers: {ab: {bytes: {8: 32}}}\n",
                  {"job.yaml:5: buffers.ab.bytes.8", "rank from 0 to 7"}},
        BadBuffer{"BytesOfAnotherRank",
                  kBehind,
                  "buffers: {ab: {bytes: {4: 32}}}\n",
                  {kBufferOfRank, "ends at byte 32, the buffer has 0"}},
        BadBuffer{"FillUnknown",
                  kBehind,
                  "buffers: {ab: {bytes: 32, fill: random}}\n",
                  {"job.yaml:5: buffers.ab.fill", "zero, keep"}},
        BadBuffer{"UnknownKey", kBehind, "buffers: {ab: {size: 32}}\n", {"job.yaml:5: buffers.ab"}},
        BadBuffer{"OfWrongType", kBehind, "buffers: [ab]\n", {"job.yaml:5: buffers", "a map"}},
        BadBuffer{"NameOfATensorIsNotABuffer",
                  kBehind,
                  "buffers: {a: {bytes: 16}}\n",
                  {"job.yaml:5: buffers.a", "no tensor lies in a buffer called a"}}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace transload::testing
