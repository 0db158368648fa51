#include "models/model.h"

#include <algorithm>
#include <utility>

namespace transload {

std::int64_t element_count(const Parameter& parameter) {
  std::int64_t count = 1;
  for (const std::int64_t extent : parameter.shape) count *= extent;
  return count;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Parameter& parameter : model.parameters) count += element_count(parameter);
  return count;
}

std::int64_t parameter_count(const Model& model, ModelPart part) {
  std::int64_t count = 0;
  for (const Parameter& parameter : model.parameters)
    if (parameter.part == part) count += element_count(parameter);
  return count;
}

std::int64_t counted_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const ModelPart part : model.published.counts) count += parameter_count(model, part);
  return count;
}

Model without_mtp(Model model) {
  std::erase_if(model.parameters, [](const Parameter& parameter) {
    return parameter.part == ModelPart::kMtp || parameter.part == ModelPart::kMtpCopy;
  });
  model.mtp_layers = 0;
  return model;
}

Model with_dtype(Model model, DType dtype) {
  for (Parameter& parameter : model.parameters)
    if (!parameter.fixed_dtype) parameter.dtype = dtype;
  model.dtype = dtype;
  return model;
}

const char* model_part_name(ModelPart part) {
  switch (part) {
    case ModelPart::kMain:
      return "main";
    case ModelPart::kMtp:
      return "mtp";
    case ModelPart::kMtpCopy:
      return "mtp-copy";
    case ModelPart::kVision:
      return "vision";
    case ModelPart::kBuffer:
      return "buffer";
  }
  return "?";
}

}  // namespace transload
