// Reading the free text of published measurements. Internal to simulator/validation.
#pragma once

#include <optional>
#include <string>

namespace transload {

std::string lower(std::string text);
// Whether `text`, in lower case, contains `part`; an empty part is in everything.
bool holds(const std::string& text, const std::string& part);
// Bytes of "1 GB bucket", "2048 MB bucket", "512 MiB bucket"; nothing where no such words stand.
std::optional<double> bucket_bytes_said(const std::string& text);

}  // namespace transload
