#include "models/families/sparse_mlp.h"

namespace transload {

SparseMlp read_sparse_mlp(YamlMap& hyper, Model& model, std::int64_t hidden,
                          const ExpertKeys& keys) {
  SparseMlp mlp;
  mlp.hidden = hidden;
  mlp.experts = model.experts = hyper_parameter(hyper, keys.routed, kMaxExperts);
  mlp.dense_layers = read_dense_layers(hyper, model);
  mlp.dense_width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  mlp.expert_width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  mlp.shared_width = hyper_parameter(hyper, keys.shared, 0, kMaxSharedExperts) * mlp.expert_width;
  return mlp;
}

void add_sparse_mlp(ParameterBuilder& add, const SparseMlp& mlp, std::int64_t layer) {
  if (layer < mlp.dense_layers)
    return add.add_mlp("mlp", mlp.hidden, mlp.dense_width, MlpUse::kDense);
  add.add("mlp.gate.weight", {mlp.experts, mlp.hidden}, ParameterKind::kRouter);
  if (!mlp.router_bias.empty())
    add.add_fp32("mlp.gate." + mlp.router_bias, {mlp.experts}, ParameterKind::kRouterBias);
  add.add_experts("mlp.experts", mlp.experts, mlp.hidden, mlp.expert_width);
  if (mlp.shared_width > 0)
    add.add_mlp("mlp.shared_experts", mlp.hidden, mlp.shared_width, MlpUse::kShared);
}

}  // namespace transload
