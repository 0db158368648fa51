// Files in a folder of their own, imported or refused.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/error.h"
#include "models/importers/importers.h"

namespace transload {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

class ImporterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "transload-import-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  Imported import(const std::string& name, const std::string& content,
                  const ImportOptions& options = {}) const {
    return import_file(write(name, content), options);
  }

  // The message of the refusal; it names the file unless `anywhere`.
  std::string refusal(const std::string& name, const std::string& content,
                      const ImportOptions& options = {}) const {
    try {
      import(name, content, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "imported";
  }

  std::filesystem::path folder_;
};

// `text` with the first `from` made `to`; the test that misses it fails.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline std::int64_t size_in(const ImportedSide& side, const std::string& key) {
  for (const auto& [name, size] : side.parallel)
    if (name == key) return size;
  return 0;
}

inline std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

}  // namespace transload
