// The constants of simulator/sizing/constants.yaml.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace transload {

struct SizingConstant {
  std::string name;
  std::string value;  // as written
  std::string kind;   // measured | assumed
  std::string source;
};

// "connect_per_peer = 700ms (measured: ...)".
std::string in_words(const SizingConstant& constant);

class SizingConstants {
 public:
  // Reads the installation's file. InputError where it is missing or wrong.
  SizingConstants();

  // InputError for names that the file does not have.
  const SizingConstant& of(const std::string& name) const;
  bool has(const std::string& name) const { return constants_.contains(name); }
  double seconds(const std::string& name) const;
  double bytes_per_s(const std::string& name) const;
  double share(const std::string& name) const;  // above 0, at most 1

 private:
  std::string path_;
  std::map<std::string, SizingConstant> constants_;
};

}  // namespace transload
