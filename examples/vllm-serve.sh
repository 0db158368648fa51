# What transload model import reads of a launch script: the destination side of a job.
vllm serve Qwen/Qwen3-30B-A3B \
  --tensor-parallel-size 4 --data-parallel-size 2 --enable-expert-parallel \
  --gpu-memory-utilization 0.9
