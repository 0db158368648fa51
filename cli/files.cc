#include "cli/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

}  // namespace

void require_writable(const std::string& path, const std::string& option) {
  std::error_code ignored;
  if (path.empty()) throw InputError(option + ": expected a file name, found nothing");
  if (fs::is_directory(path, ignored))
    throw InputError({path, 0, option}, "this is a folder; expected a file name");
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored))
    throw InputError({path, 0, option}, "there is no folder " + folder.string());
  // A device such as /dev/stdout is written in place.
  const bool in_place = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  if (access(in_place ? path.c_str() : folder.c_str(), W_OK) != 0)
    throw InputError({path, 0, option}, std::string("cannot write there: ") + std::strerror(errno));
}

void require_folder(const std::string& path, const std::string& option) {
  std::error_code error;
  if (path.empty()) throw InputError(option + ": expected a folder, found nothing");
  fs::create_directories(path, error);
  if (!fs::is_directory(path))
    throw InputError({path, 0, option},
                     "cannot make the folder: " + (error ? error.message() : "a file is there"));
}

void write_text_file(const std::string& content, const std::string& path) {
  const std::string part = path + ".part";
  std::ofstream out(part, std::ios::binary);
  out << content;
  out.close();
  if (out && std::rename(part.c_str(), path.c_str()) == 0) return;
  const int reason = errno;
  std::error_code ignored;
  fs::remove(part, ignored);
  throw InputError({path, 0, ""}, std::string("cannot write the file: ") + std::strerror(reason));
}

}  // namespace transload
