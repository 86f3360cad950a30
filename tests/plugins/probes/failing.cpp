// Fails in epoch 3.
#include <flor/plugin/probe.h>

extern "C" void flor_probe(flor::Probe& probe) {
  probe.log("seen", probe.epoch());
  if (probe.epoch() == 3) probe.log("lost", probe.number<double>("momentum"));
}
