// Sealing a plan into its file image, mapping it back, and refusing what was cut or altered.
//
// File: magic, version, digest (XXH3-128 over all that follows it), then a directory of sections
// (name, element size, count, offset), then the sections, 64-byte aligned: the header as JSON and
// every column of PlanColumns. Little-endian. docs/plan-format.md has the byte layout.
#pragma once

#include <memory>
#include <string>

#include "common/hash.h"
#include "planner/schedule/plan.h"

namespace transload {

// A sealed plan: columns as spans into an image that it keeps alive. Cheap to copy.
class Plan : public PlanColumns<MappedColumn> {
 public:
  Plan() = default;

  const PlanHeader& header() const { return *header_; }
  const Digest& digest() const { return digest_; }
  std::span<const std::byte> image() const { return image_; }

  std::size_t ranks() const { return rank_node.size(); }
  std::size_t tensors() const { return tensor_name.size(); }
  std::size_t operations() const { return op_key.size(); }
  std::size_t ports() const { return port_kind.size(); }
  std::size_t bundles() const { return bundle_bytes.size(); }

 private:
  friend Plan seal_plan(const PlanHeader&, const PlanTables&);
  friend Plan open_plan(const std::string&);
  friend Plan plan_from_image(std::shared_ptr<const void>, std::span<const std::byte>,
                              const std::string&);
  std::shared_ptr<const void> storage_;
  std::span<const std::byte> image_;
  std::shared_ptr<const PlanHeader> header_;
  Digest digest_;
};

// Writes the image and the digest. Same tables, same bytes, on every machine. InputError naming the
// field where a text of the header is not UTF-8.
Plan seal_plan(const PlanHeader& header, const PlanTables& tables);

// Copies the columns of a plan so that they can be changed and sealed again (scaling, mutation
// tests).
PlanTables thaw_plan(const Plan& plan);

// Writes to `path` through a temporary file and a rename. InputError where that is not possible.
void write_plan(const Plan& plan, const std::string& path);

// Maps a plan file. InputError, naming the file and what is wrong, if it is not a plan, of another
// version, cut, altered (digest), or if any index in it points outside its table.
Plan open_plan(const std::string& path);

// The same over an image in memory; `name` stands for the file in messages.
Plan plan_from_image(std::shared_ptr<const void> storage, std::span<const std::byte> image,
                     const std::string& name);

// True if `path` starts with the magic of a plan file (and is not a job).
bool is_plan_file(const std::string& path);

}  // namespace transload
