// Megatron's argument lists, bare and inside scripts.
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

const std::string kScript = R"(#!/bin/bash
# trains a sparse model on 8 nodes
GPUS_PER_NODE=8
NNODES=${NNODES:-8}

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --master_addr localhost
)
MODEL_ARGS=(
    --num-layers 46
    --hidden-size 4096
    --num-experts 128
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 4   # stages
    --decoder-first-pipeline-num-layers 10
    --decoder-last-pipeline-num-layers 12
    --expert-model-parallel-size 8
    --expert-tensor-parallel-size 1
    --context-parallel-size 2
    --sequence-parallel
    --use-distributed-optimizer
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    ${PARALLEL_ARGS[@]} \
    --lr 1e-5 --bf16
)";

class ImportMegatron : public ImporterTest {
 protected:
  ImportedSide side(const std::string& text) const {
    const Imported imported = import("train.sh", text);
    EXPECT_EQ(imported.kind, ImportKind::kMegatronArguments);
    EXPECT_EQ(imported.sides.size(), 1u);
    return imported.sides.at(0);
  }
};

TEST_F(ImportMegatron, Script) {
  const Imported imported = import("train.sh", kScript);
  const ImportedSide& side = imported.sides.at(0);
  EXPECT_EQ(side.role, "source");
  EXPECT_EQ(side.engine, "megatron");
  EXPECT_EQ(side.gpus, 64);
  EXPECT_THAT(side.parallel, ElementsAre(Pair("tp", 2), Pair("pp", 4), Pair("cp", 2), Pair("ep", 8),
                                         Pair("etp", 1)));
  EXPECT_EQ(side.pp_layout, "{first: 10, last: 12}");
  EXPECT_EQ(side.dtype, "bf16");
  EXPECT_THAT(joined(imported.understood), HasSubstr("NNODES: 8"));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("--sequence-parallel: cuts activations"));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("num-layers 46"));
  EXPECT_THAT(joined(imported.ignored), HasSubstr("--lr"));
  EXPECT_THAT(joined(imported.asked), HasSubstr("model"));
  EXPECT_EQ(import_text(imported),
            "# Imported from train.sh.\n"
            "# asked: model: the arguments name none; a library name or a config.json\n"
            "# asked: topology, destination\n"
            "# model: ?\n"
            "dtype: bf16\n"
            "# topology: ?\n"
            "source:\n"
            "  engine: megatron\n"
            "  gpus: 64\n"
            "  parallel: {tp: 2, pp: 4, cp: 2, ep: 8, etp: 1}\n"
            "  pp_layout: {first: 10, last: 12}\n"
            "# destination: ?\n");
}

TEST_F(ImportMegatron, BareFlags) {
  const ImportedSide found = side(
      "--tensor-model-parallel-size=4 --pipeline_model_parallel_size 2 "
      "--make-vocab-size-divisible-by 64\n");
  EXPECT_THAT(found.parallel, ElementsAre(Pair("tp", 4), Pair("pp", 2)));
  EXPECT_FALSE(found.gpus);
  EXPECT_THAT(found.settings, ElementsAre(Pair("vocab_divisor", "64")));
}

TEST_F(ImportMegatron, FlagsInAVariable) {
  EXPECT_THAT(side("ARGS=\"--tensor-model-parallel-size 4\n --lr 1\"\n").parallel,
              ElementsAre(Pair("tp", 4)));
}

TEST_F(ImportMegatron, ExpertTensorParallelismFollowsTensorParallelism) {
  const ImportedSide found =
      side("--tensor-model-parallel-size 2 --expert-model-parallel-size 4\n");
  EXPECT_EQ(size_in(found, "etp"), 2);
  // Without experts there is nothing to say.
  EXPECT_EQ(size_in(side("--tensor-model-parallel-size 2\n"), "etp"), 0);
}

TEST_F(ImportMegatron, VirtualStages) {
  const std::string start = "--pipeline-model-parallel-size 4 --num-layers 48 ";
  EXPECT_EQ(size_in(side(start + "--num-virtual-stages-per-pipeline-rank 3\n"), "vpp"), 3);
  // 48 layers over 4 stages are 12 each: 4 chunks of 3.
  EXPECT_EQ(size_in(side(start + "--num-layers-per-virtual-pipeline-stage 3\n"), "vpp"), 4);
  EXPECT_THAT(refusal("a", start + "--num-layers-per-virtual-pipeline-stage 5\n"),
              HasSubstr("48 layers do not divide over 4 stages of 5"));
}

TEST_F(ImportMegatron, PipelineLayouts) {
  const std::string start = "--pipeline-model-parallel-size 2 ";
  EXPECT_EQ(side(start + "--pipeline-model-parallel-layout 'Et*3|(tt|)*2m,L'\n").pp_layout,
            "\"Et*3|(tt|)*2m,L\"");
  EXPECT_EQ(side(start + "--account-for-loss-in-pipeline-split\n").pp_layout,
            "{account_for_loss: true}");
  EXPECT_THAT(refusal("a", start + "--pipeline-model-parallel-layout Et|tL\n"),
              HasSubstr("in quotes, such as 'Et*3|(tt|)*29,m|L', found Et"));
  EXPECT_THAT(refusal("a", start + "--pipeline-model-parallel-layout 'Et|xL'\n"),
              HasSubstr("found Et|xL"));
  EXPECT_THAT(refusal("a", start + "--pipeline-model-parallel-layout 'Et|tL' "
                                   "--decoder-first-pipeline-num-layers 3\n"),
              HasSubstr("three ways"));
}

TEST_F(ImportMegatron, HalfPrecision) {
  EXPECT_EQ(side("--tensor-model-parallel-size 2 --fp16\n").dtype, "fp16");
  EXPECT_THAT(refusal("a", "--tensor-model-parallel-size 2 --fp16 --bf16\n"), HasSubstr("beside"));
}

struct Bad {
  const char* text;
  const char* message;
};

constexpr Bad kBad[] = {
    {"--tensor-model-parallel-size two\n",
     ":1: --tensor-model-parallel-size: expected a whole number"},
    {"--tensor-model-parallel-size 0\n", "from 1 to"},
    {"--tensor-model-parallel-size -4\n", "found -4"},
    {"--tensor-model-parallel-size 2.0\n", "found 2.0"},
    {"--tensor-model-parallel-size 99999999999999999999\n", "from 1 to"},
    {"--tensor-model-parallel-size\n--lr 3\n", "expected a value behind the flag"},
    {"--lr 3\n--tensor-model-parallel-size $TP\n",
     ":2: --tensor-model-parallel-size: $TP is not set"},
    {"--tensor-model-parallel-size 2 \\\n --tensor-model-parallel-size 4\n", "stands twice, as 2"},
    {"--tensor-model-parallel-size 2 --expert-modl-parallel-size 4\n",
     "did you mean --expert-model-parallel-size?"},
    {"--tensor-model-parallel-size 4 --nproc-per-node 6 --nnodes 1\n", "6 GPUs are no multiple of"},
    {"--expert-model-parallel-size 8 --tensor-model-parallel-size 2 --nproc-per-node 8 --nnodes "
     "1\n",
     "ep x etp x pp = 16"},
    {"--expert-model-parallel-size 8 --num-experts 12\n", "12 experts do not divide over 8"},
    {"--tensor-model-parallel-size 2 --use-torch-fsdp2\n", "sharded by FSDP"},
    {"--tensor-model-parallel-size 2 --use-tp-pp-dp-mapping\n", "rank order"},
    {"--tensor-model-parallel-size 2 --data-parallel-sharding-strategy optim_grads_params\n",
     "FSDP"},
    {"ARGS=(--tensor-model-parallel-size 2\n", ":1: ARGS: the list never closes; is the file cut?"},
    {"run '--tensor-model-parallel-size 2\n", "the quote never closes"},
    {"# --tensor-model-parallel-size 2\n", "no parallel size of Megatron"},
};

TEST_F(ImportMegatron, BadArguments) {
  for (const Bad& bad : kBad)
    EXPECT_THAT(refusal("bad.sh", bad.text), HasSubstr(bad.message)) << bad.text;
}

}  // namespace
}  // namespace transload
