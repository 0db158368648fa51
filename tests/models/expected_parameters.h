// Rows of published parameters as tests write them out by hand.
#pragma once

#include "tests/models/small_models.h"

namespace transload {

struct ExpectedParameter {
  const char* name;
  std::vector<std::int64_t> shape;
  ParameterKind kind;
  int layer = -1;
  int expert = -1;
};

inline void expect_parameters(const Model& model, const std::vector<ExpectedParameter>& rows) {
  for (const ExpectedParameter& row : rows) {
    const Parameter& parameter = parameter_named(model, row.name);
    EXPECT_EQ(parameter.shape, row.shape) << row.name;
    EXPECT_EQ(parameter.kind, row.kind) << row.name << " " << parameter_kind_name(parameter.kind);
    EXPECT_EQ(parameter.layer, row.layer) << row.name;
    EXPECT_EQ(parameter.expert, row.expert) << row.name;
  }
}

}  // namespace transload
