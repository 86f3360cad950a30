#!/bin/sh
# The samplers beside Python's torch.utils.data.DistributedSampler (Debian: python3-torch), for rank 0
# of 8 replicas: CPU time, and what the process grew by. Usage: bench/sampler.sh BUILD_DIRECTORY [SAMPLES]
set -eu
build=$1
samples=${2:-10000000}

"${PYTHON:-/usr/bin/python3}" - "$samples" <<'PYTHON'
import resource, sys, time
from torch.utils.data import DistributedSampler

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

n = int(sys.argv[1])
before = peak_mb()
begin = time.process_time()
sampler = DistributedSampler(range(n), num_replicas=8, rank=0, seed=1)
samples = iter(sampler)
first = next(samples)
seconds = time.process_time() - begin
begin = time.process_time()
count = sum(1 for _ in samples)
rate = count / (time.process_time() - begin)
print(f"python       {seconds:8.4f} s to the first sample, {peak_mb() - before:7.1f} MB, "
      f"{rate / 1e6:6.1f} M samples/s")
PYTHON
for kind in torch keyed none; do
  "$build/bench/sampler" $kind "$samples"
done
