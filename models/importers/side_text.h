// Sentences and checks that the importers of parallel sizes share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "models/importers/importers.h"

namespace transload::importing {

inline constexpr std::int64_t kMaxSize = 1 << 20;  // of one parallel size, or GPUs

// "tp 8, pp 4, ep 32".
std::string sizes_text(const ImportedSide& side);

// The size of a key, or 1.
std::int64_t size_of(const ImportedSide& side, std::string_view key);

void set_size(ImportedSide& side, const std::string& key, std::int64_t size);

// "1 flag", "2 flags".
std::string counted(std::size_t count, const std::string& noun);

// "a, b, c and 12 more".
std::string some_of(const std::vector<std::string>& items, std::size_t shown = 8);

// Megatron's ways of placing layers, as the job's `pp_layout`; unset where the file has none.
struct PipelineWords {
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;
  std::optional<std::string> layout;  // "Et*3|(tt|)*29,m|L"
  bool account_for_embedding = false;
  bool account_for_loss = false;
};

// Empty: none. InputError, naming `place`, where several ways stand beside each other.
std::string pp_layout_text(const PipelineWords& words, const InputPlace& place);

// Takes the side's model by its library name if there is one, else asks for it.
void resolve_model(ImportedSide& side, Imported& imported);

// A factor of the GPUs that the sizes give; InputError where they do not divide a known number.
void require_divides(const ImportedSide& side, const std::string& path, std::int64_t unit,
                     const std::string& formula);

}  // namespace transload::importing
