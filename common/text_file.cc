#include "common/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace transload {

std::string read_text_file(const std::string& path, std::int64_t limit, std::string_view kind) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError({path, 0, ""}, "cannot open the file");
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) throw InputError({path, 0, ""}, "cannot read the file");
  if (size > limit)
    throw InputError({path, 0, ""}, fmt::format("{} bytes; {} has at most {}", size, kind, limit));
  std::ifstream stream(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!stream || !stream.read(text.data(), size))
    throw InputError({path, 0, ""}, "cannot read the file");
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace transload
