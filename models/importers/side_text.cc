#include "models/importers/side_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/error.h"
#include "models/importers/readers.h"

namespace transload::importing {

std::string sizes_text(const ImportedSide& side) {
  std::string text;
  for (const auto& [key, size] : side.parallel)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, size);
  return text.empty() ? "no parallel sizes" : text;
}

std::int64_t size_of(const ImportedSide& side, std::string_view key) {
  for (const auto& [name, size] : side.parallel)
    if (name == key) return size;
  return 1;
}

void set_size(ImportedSide& side, const std::string& key, std::int64_t size) {
  for (auto& [name, value] : side.parallel)
    if (name == key) {
      value = size;
      return;
    }
  side.parallel.emplace_back(key, size);
}

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string some_of(const std::vector<std::string>& items, std::size_t shown) {
  if (items.size() <= shown + 1) return fmt::format("{}", fmt::join(items, ", "));
  const std::vector<std::string> first(items.begin(),
                                       items.begin() + static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{} and {} more", fmt::join(first, ", "), items.size() - shown);
}

std::string pp_layout_text(const PipelineWords& words, const InputPlace& place) {
  const bool ends = words.first || words.last;
  const bool counted_ends = words.account_for_embedding || words.account_for_loss;
  if ((words.layout ? 1 : 0) + (ends ? 1 : 0) + (counted_ends ? 1 : 0) > 1)
    throw InputError(place,
                     "layers of the first and last stage, a layout, and counting embedding or loss "
                     "as layers are three ways to place layers; Megatron takes one of them");
  if (words.layout) {
    // Without quotes a shell would end the command at the first bar.
    const bool whole = words.layout->find('E') != std::string::npos &&
                       words.layout->find('L') != std::string::npos;
    if (!whole || words.layout->find_first_not_of("EtmL|()*,0123456789 ") != std::string::npos)
      throw InputError(place, fmt::format("expected a layout from E to L, in quotes, such as "
                                          "'Et*3|(tt|)*29,m|L', found {}",
                                          *words.layout));
    return "\"" + *words.layout + "\"";
  }
  std::vector<std::string> parts;
  if (words.first) parts.push_back(fmt::format("first: {}", *words.first));
  if (words.last) parts.push_back(fmt::format("last: {}", *words.last));
  if (words.account_for_embedding) parts.emplace_back("account_for_embedding: true");
  if (words.account_for_loss) parts.emplace_back("account_for_loss: true");
  return parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ", "));
}

void resolve_model(ImportedSide& side, Imported& imported) {
  if (side.model.empty()) return;
  const LibraryMatch match = library_match(side.model);
  std::vector<std::string>& sentences = match.name.empty() ? imported.asked : imported.understood;
  if (std::find(sentences.begin(), sentences.end(), match.sentence) == sentences.end())
    sentences.push_back(match.sentence);
  side.model = match.name;
}

void require_divides(const ImportedSide& side, const std::string& path, std::int64_t unit,
                     const std::string& formula) {
  if (side.gpus && *side.gpus % unit != 0)
    throw InputError({path, 0, side.role},
                     fmt::format("{} GPUs are no multiple of {} = {} ({})", *side.gpus, formula,
                                 unit, sizes_text(side)));
}

}  // namespace transload::importing
