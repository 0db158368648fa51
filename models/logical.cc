#include <fmt/format.h>

#include <utility>

#include "common/check.h"
#include "models/model.h"

namespace transload {
namespace {

LogicalTensor whole(const Parameter& parameter, std::uint32_t index) {
  return {parameter.name,   parameter.shape, parameter.dtype,
          parameter.kind,   parameter.part,  parameter.layer,
          parameter.expert, index,           0};
}

// Appends the pieces of one parameter, or of one expert's part of it.
void split(const Parameter& parameter, const Fusion& fusion, LogicalTensor tensor, std::size_t dim,
           std::vector<LogicalTensor>& tensors) {
  const std::vector<std::int64_t> shape = tensor.shape;
  const std::string name = tensor.name;
  const auto finish = [&](LogicalTensor&& part) {
    if (fusion.transposed && part.shape.size() >= 2)
      std::swap(part.shape[part.shape.size() - 1], part.shape[part.shape.size() - 2]);
    tensors.push_back(std::move(part));
  };
  if (fusion.pieces.empty()) return finish(std::move(tensor));
  std::int64_t covered = 0;
  for (std::uint32_t piece = 0; piece < fusion.pieces.size(); ++piece) {
    LogicalTensor part = tensor;
    part.name = fmt::format("{}/{}", name, fusion.pieces[piece].name);
    part.kind = fusion.pieces[piece].kind;
    part.shape[dim] = fusion.pieces[piece].extent * fusion.groups;
    part.piece = piece;
    covered += part.shape[dim];
    finish(std::move(part));
  }
  TRANSLOAD_CHECK(covered == shape[dim], "the pieces of " + parameter.name + " cover it");
}

}  // namespace

std::vector<LogicalTensor> logical_tensors(const Model& model) {
  std::vector<LogicalTensor> tensors;
  tensors.reserve(model.parameters.size());
  for (std::uint32_t index = 0; index < model.parameters.size(); ++index) {
    const Parameter& parameter = model.parameters[index];
    if (parameter.fusion < 0) {
      tensors.push_back(whole(parameter, index));
      continue;
    }
    const Fusion& fusion = model.fusions[static_cast<std::size_t>(parameter.fusion)];
    if (!fusion.experts) {
      split(parameter, fusion, whole(parameter, index), static_cast<std::size_t>(fusion.dim),
            tensors);
      continue;
    }
    for (std::int64_t expert = 0; expert < parameter.shape[0]; ++expert) {
      LogicalTensor tensor = whole(parameter, index);
      tensor.name = fmt::format("{}/{}", parameter.name, expert);
      tensor.shape.erase(tensor.shape.begin());
      tensor.expert = static_cast<std::int32_t>(expert);
      split(parameter, fusion, std::move(tensor), static_cast<std::size_t>(fusion.dim) - 1,
            tensors);
    }
  }
  return tensors;
}

}  // namespace transload
