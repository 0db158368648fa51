#include "cli/model_params.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <vector>

#include "cli/table.h"
#include "common/error.h"
#include "common/units.h"
#include "models/quantised.h"

namespace transload {
namespace {

// One row, whichever list it comes from.
struct Listed {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  ModelPart part = ModelPart::kMain;
  std::string_view kind;
  std::int32_t layer = -1;
  std::int32_t expert = -1;
};

std::int64_t elements_of(const Listed& row) {
  std::int64_t count = 1;
  for (const std::int64_t extent : row.shape) count *= extent;
  return count;
}

std::int64_t bytes_of(const Listed& row) { return elements_of(row) * dtype_bits(row.dtype) / 8; }

Listed listed(const Parameter& parameter) {
  return {parameter.name,
          parameter.shape,
          parameter.dtype,
          parameter.part,
          parameter_kind_name(parameter.kind),
          parameter.layer,
          parameter.expert};
}

Listed listed(const LogicalTensor& tensor) {
  return {tensor.name,  tensor.shape, tensor.dtype, tensor.part, parameter_kind_name(tensor.kind),
          tensor.layer, tensor.expert};
}

Listed listed(const StoredTensor& tensor, const Model& model) {
  const Parameter& parameter = model.parameters[tensor.parameter];
  // A scale is not what its weight is, so its role stands instead.
  return {tensor.name,
          tensor.shape,
          tensor.dtype,
          parameter.part,
          tensor.role == TensorRole::kScale ? tensor_role_name(tensor.role)
                                            : parameter_kind_name(parameter.kind),
          parameter.layer,
          parameter.expert};
}

std::vector<Listed> all_rows(const Model& model, const ParamsArguments& arguments) {
  std::vector<Listed> rows;
  if (!arguments.quantised.empty())
    for (const StoredTensor& tensor :
         quantised_tensors(model, quantised_format(arguments.quantised)))
      rows.push_back(listed(tensor, model));
  else if (arguments.logical)
    for (const LogicalTensor& tensor : logical_tensors(model)) rows.push_back(listed(tensor));
  else
    for (const Parameter& parameter : model.parameters) rows.push_back(listed(parameter));
  return rows;
}

// Leaves the rows that `filter` names. An exact name wins over its reading as a glob: names may
// hold brackets.
void select(std::vector<Listed>& rows, const std::string& model, const std::string& filter) {
  if (filter.empty()) return;
  const bool exact =
      std::any_of(rows.begin(), rows.end(), [&](const Listed& row) { return row.name == filter; });
  std::erase_if(rows, [&](const Listed& row) {
    return exact ? row.name != filter
                 : fnmatch(filter.c_str(), row.name.c_str(), FNM_NOESCAPE) != 0;
  });
  if (rows.empty())
    throw InputError({"", 0, "--filter"},
                     fmt::format("no tensor of {} is called {}; expected a name or a glob such as "
                                 "'*.q_proj.weight'",
                                 model, filter));
}

std::string shape_text(const Listed& row) {
  std::string text;
  for (const std::int64_t extent : row.shape)
    text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
  return text.empty() ? "scalar" : text;
}

void print_listing_json(Session& session, const std::vector<Listed>& rows, std::size_t shown) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    const Listed& row = rows[i];
    list.push_back({{"name", row.name},
                    {"shape", row.shape},
                    {"dtype", dtype_name(row.dtype)},
                    {"part", model_part_name(row.part)},
                    {"kind", row.kind},
                    {"layer", row.layer},
                    {"expert", row.expert},
                    {"elements", elements_of(row)},
                    {"bytes", bytes_of(row)}});
  }
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  for (const Listed& row : rows) {
    elements += elements_of(row);
    bytes += bytes_of(row);
  }
  print_json(session, {{"parameters", std::move(list)},
                       {"count", rows.size()},
                       {"elements", elements},
                       {"bytes", bytes},
                       {"truncated", shown < rows.size()}});
}

void print_listing_text(Session& session, const std::vector<Listed>& rows, std::size_t shown) {
  Table table(
      {"name", "shape", "dtype", "part", "kind", "bytes"},
      {Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
  for (std::size_t i = 0; i < shown; ++i) {
    const Listed& row = rows[i];
    table.add({row.name, shape_text(row), std::string(dtype_name(row.dtype)),
               model_part_name(row.part), std::string(row.kind),
               format_bytes(static_cast<double>(bytes_of(row)))});
  }
  session.out << table.text();
  if (shown < rows.size())
    session.out << fmt::format("... {} of {} shown; --limit shows more\n", shown, rows.size());
}

}  // namespace

int list_parameters(Session& session, const Model& model, const ParamsArguments& arguments) {
  std::vector<Listed> rows = all_rows(model, arguments);
  select(rows, model.name, arguments.filter);
  const std::size_t shown = std::min(arguments.limit, rows.size());
  if (session.json)
    print_listing_json(session, rows, shown);
  else
    print_listing_text(session, rows, shown);
  return kDone;
}

}  // namespace transload
