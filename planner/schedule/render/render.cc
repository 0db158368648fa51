#include "planner/schedule/render/render.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/check.h"
#include "common/error.h"
#include "planner/schedule/render/dot_program.h"
#include "planner/schedule/render/html_page.h"
#include "planner/schedule/render/views.h"

namespace transload {
namespace {

std::string content_of(const Plan& plan, const RenderOptions& options, RenderFormat format) {
  const std::string text = render::draw(plan, options, format != RenderFormat::kHtml);
  switch (format) {
    case RenderFormat::kDot:
      return text;
    case RenderFormat::kSvg:
      return render::run_dot(text, {"-Tsvg"});
    // Twice the resolution of a screen, for slides and print.
    case RenderFormat::kPng:
      return render::run_dot(text, {"-Tpng", "-Gdpi=144"});
    case RenderFormat::kHtml:
      return render::html_page(plan, options, render::run_dot(text, {"-Tsvg"}));
  }
  TRANSLOAD_CHECK(false, "a format exists");
}

// Through a neighbour and a rename, so that nobody sees half a picture. What is not a regular file
// (/dev/stdout) is written directly.
void write_whole(const std::string& content, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool direct = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  const std::string written = direct ? path : path + ".part";
  const auto fail = [&] {
    const int reason = errno;
    if (!direct) fs::remove(written, ignored);
    throw InputError(fmt::format("{}: cannot write the picture: {}", path, std::strerror(reason)));
  };
  std::ofstream out(written, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) fail();
  if (!direct && std::rename(written.c_str(), path.c_str()) != 0) fail();
}

}  // namespace

std::string render_dot(const Plan& plan, const RenderOptions& options) {
  return render::draw(plan, options, true);
}

void render_file(const Plan& plan, const RenderOptions& options, RenderFormat format,
                 const std::string& path) {
  write_whole(content_of(plan, options, format), path);
}

}  // namespace transload
