// Launch lines of inference engines, bare and in Kubernetes manifests.
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

class ImportServe : public ImporterTest {
 protected:
  ImportedSide side(const std::string& text) const {
    const Imported imported = import("serve.sh", text);
    EXPECT_EQ(imported.kind, ImportKind::kServeArguments);
    EXPECT_EQ(imported.sides.size(), 1u);
    EXPECT_EQ(imported.sides.at(0).role, "destination");
    return imported.sides.at(0);
  }
};

TEST_F(ImportServe, Vllm) {
  const Imported imported = import(
      "a",
      "vllm serve Qwen/Qwen3-30B-A3B -tp 4 --data-parallel-size=2 --enable-expert-parallel \\\n"
      "  --kv-cache-dtype fp8 --port 9000 --max-model-len 4096\n");
  const ImportedSide& side = imported.sides.at(0);
  EXPECT_EQ(side.engine, "vllm");
  EXPECT_EQ(side.model, "qwen3-30b-a3b");
  EXPECT_EQ(side.gpus, 8);
  EXPECT_THAT(side.parallel, ElementsAre(Pair("tp", 4), Pair("dp", 2), Pair("ep", 8)));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("--kv-cache-dtype: the cache"));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("1 flag that place no weights: --max-model-len"));
}

TEST_F(ImportServe, OtherWaysToStartIt) {
  EXPECT_EQ(size_in(side("python -m vllm.entrypoints.openai.api_server --model m "
                         "--tensor_parallel_size 2\n"),
                    "tp"),
            2);
  EXPECT_EQ(side("exec /usr/bin/vllm serve \"$MODEL\" --pipeline-parallel-size 2\n").gpus, 2);
  EXPECT_EQ(side("-tp 8 --enable-expert-parallel\n").gpus, 8);
}

TEST_F(ImportServe, LayersPerStage) {
  EXPECT_EQ(side("VLLM_PP_LAYER_PARTITION=13,16,16,16 vllm serve m -tp 2 -pp 4\n").pp_layout,
            "[13, 16, 16, 16]");
  EXPECT_THAT(refusal("a", "VLLM_PP_LAYER_PARTITION=13,16 vllm serve m -pp 4\n"),
              HasSubstr("2 numbers of layers for 4"));
  EXPECT_THAT(refusal("a", "VLLM_PP_LAYER_PARTITION=13,x vllm serve m -pp 2\n"),
              HasSubstr("expected layers per stage"));
}

TEST_F(ImportServe, ExpertsThatMove) {
  const Imported imported = import(
      "a",
      "vllm serve m -tp 8 --enable-expert-parallel --enable-eplb "
      "--eplb-config '{\"num_redundant_experts\": 32}' --expert-placement-strategy round_robin\n");
  EXPECT_THAT(joined(imported.asked),
              HasSubstr("expert_table: the engine places experts, 32 of them"));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("replaces it"));
  EXPECT_THAT(imported.sides[0].settings, IsEmpty());
  EXPECT_THAT(side("vllm serve m -tp 8 -ep --expert-placement-strategy round_robin\n").settings,
              ElementsAre(Pair("expert_placement", "round_robin")));
}

TEST_F(ImportServe, Types) {
  EXPECT_EQ(side("vllm serve m -tp 2 --dtype bfloat16\n").dtype, "bf16");
  EXPECT_EQ(side("vllm serve m -tp 2 --dtype auto\n").dtype, "");
  EXPECT_THAT(joined(import("a", "vllm serve m -tp 2 -q fp8\n").asked),
              HasSubstr("--quantization fp8"));
}

TEST_F(ImportServe, Sglang) {
  const ImportedSide attention = side(
      "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --dp 8 "
      "--enable-dp-attention --ep-size 16 --nnodes 2 --node-rank 0 --enable-dp-lm-head "
      "--moe-dense-tp-size 1\n");
  EXPECT_EQ(attention.engine, "sglang");
  EXPECT_EQ(attention.model, "deepseek-v3");
  EXPECT_EQ(attention.gpus, 16);
  EXPECT_THAT(attention.parallel,
              ElementsAre(Pair("tp", 16), Pair("dp", 8), Pair("ep", 16), Pair("moe_dense_tp", 1)));
  EXPECT_THAT(attention.settings, ElementsAre(Pair("dp_lm_head", "true")));
  // Plain data parallelism starts engines: 4 of tp 2.
  const ImportedSide engines =
      side("python -m sglang.launch_server --model m --tp-size 2 --dp-size 4\n");
  EXPECT_EQ(engines.gpus, 8);
  EXPECT_THAT(engines.parallel, ElementsAre(Pair("tp", 2)));
}

TEST_F(ImportServe, SeveralLaunches) {
  const std::string text = "# two\nvllm serve m -tp 2\nvllm serve m -tp 4\n";
  const Imported both = import("a", text);
  ASSERT_EQ(both.sides.size(), 2u);
  EXPECT_EQ(both.sides[1].origin, "line 3");
  EXPECT_THROW(import_text(both), InputError);
  ImportOptions options;
  options.launch = 2;
  EXPECT_THAT(import_text(import("a", text, options)), HasSubstr("parallel: {tp: 4}"));
  options.launch = 3;
  EXPECT_THAT(refusal("a", text, options), HasSubstr("the file has 2 launches, found 3"));
}

struct Bad {
  const char* text;
  const char* message;
};

constexpr Bad kBad[] = {
    {"vllm serve m -tp eight\n", ":1: -tp: expected a whole number"},
    {"vllm serve m\nvllm serve m -tp 0\n", ":2: -tp"},
    {"vllm serve m -tp 2 --tensor-parallel-size 4\n", "stands twice, as 2"},
    {"vllm serve m --tensor-parallel-size\n", "expected a value"},
    {"vllm serve m --tensor-parallel-size $TP\n", "$TP is not set in this file"},
    {"vllm serve m -tp 2 --tensr-parallel-size 4\n", "--tensr-parallel-size"},
    {"vllm serve m -tp 2 --prefill-context-parallel-size 2\n", "no rule table"},
    {"vllm serve m -tp 2 --dtype int3\n", "expected a dtype or auto"},
    {"vllm serve m -tp 8 --nnodes 3\n", "8 GPUs do not divide over 3 nodes"},
    {"vllm serve m -tp 2 --eplb-config '{\"num_redundant_experts\": -1}'\n",
     "num_redundant_experts"},
    {"vllm serve m -tp 2 --eplb-config '{\"num_'\n", "not valid JSON"},
    {"vllm serve m -tp 2 --expert-placement-strategy random\n", "linear or round_robin"},
    {"vllm serve 'm -tp 2\n", "the quote never closes"},
    {"python -m sglang.launch_server --tp 4 --dp 3 --enable-dp-attention\n",
     "dp 3 does not divide"},
    {"python -m sglang.launch_server --tp 4 --ep 3\n", "ep 3 does not divide tp 4"},
};

TEST_F(ImportServe, BadLaunches) {
  for (const Bad& bad : kBad)
    EXPECT_THAT(refusal("bad.sh", bad.text), HasSubstr(bad.message)) << bad.text;
}

const std::string kManifest = R"(# one engine over two pods
apiVersion: v1
kind: Service
metadata: {name: rollout}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: rollout}
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: server
          env:
            - {name: MODEL, value: "deepseek-ai/DeepSeek-V3"}
            - {name: SECRET, valueFrom: {secretKeyRef: {name: a, key: b}}}
          command: ["/bin/sh", "-c"]
          args:
            - |
              RANK=${HOSTNAME##*-}
              EXTRA=""
              if [ "$RANK" != "0" ]; then
                EXTRA="--headless"
              fi
              exec vllm serve "$MODEL" --tensor-parallel-size 8 \
                --pipeline-parallel-size 2 --node-rank "$RANK" $EXTRA
          resources:
            limits: {nvidia.com/gpu: "8"}
)";

class ImportKubernetes : public ImporterTest {};

TEST_F(ImportKubernetes, ShellInAContainer) {
  const Imported imported = import("a.yaml", kManifest);
  EXPECT_EQ(imported.kind, ImportKind::kKubernetes);
  ASSERT_EQ(imported.sides.size(), 1u);
  EXPECT_EQ(imported.sides[0].model, "deepseek-v3");
  EXPECT_EQ(imported.sides[0].gpus, 16);
  EXPECT_EQ(imported.sides[0].origin, "StatefulSet server, line 26");
  EXPECT_THAT(joined(imported.understood), HasSubstr("2 pods of 8 GPUs hold the one engine"));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("1 document without a launch: Service"));
}

TEST_F(ImportKubernetes, WordsInAContainer) {
  const Imported imported = import("a.yaml", R"(apiVersion: v1
kind: Pod
spec:
  containers:
    - name: server
      env: [{name: TP, value: "4"}]
      command: [python3, -m, vllm.entrypoints.openai.api_server]
      args: [--model, Qwen/Qwen3-30B-A3B, --tensor-parallel-size, $(TP)]
      resources: {limits: {nvidia.com/gpu: 8}}
)");
  EXPECT_EQ(size_in(imported.sides.at(0), "tp"), 4);
  EXPECT_EQ(imported.sides[0].model, "qwen3-30b-a3b");
  EXPECT_THAT(joined(imported.asked), HasSubstr("1 pods of 8 GPUs are 2 engines of 4"));
}

TEST_F(ImportKubernetes, Refused) {
  EXPECT_THAT(refusal("a.yaml", changed(kManifest, "\"8\"", "\"7\"")),
              HasSubstr("2 pods of 7 GPUs do not make engines of 16 GPUs"));
  EXPECT_THAT(refusal("a.yaml", changed(kManifest, "vllm serve", "nginx")),
              HasSubstr("no container of this manifest launches"));
  EXPECT_THAT(refusal("a.yaml", changed(kManifest, "-size 8", "-size eight")),
              HasSubstr("a.yaml:26: --tensor-parallel-size"));
  EXPECT_THAT(refusal("a.yaml", changed(kManifest, "  replicas: 2", "  replicas: {{ .Values.n }}")),
              HasSubstr("a.yaml:10"));
  EXPECT_THAT(refusal("a.yaml", changed(kManifest, "containers:", "containers: 3\n      x:")),
              HasSubstr("expected a list"));
}

}  // namespace
}  // namespace transload
