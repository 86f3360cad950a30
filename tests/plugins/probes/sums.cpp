// At the end of the training loop: what `trainer` logs right behind it, from the attached local.
#include <flor/plugin/probe.h>

extern "C" std::uint32_t flor_probe_places() {
  return static_cast<std::uint32_t>(flor::ProbeAt::loop_end);
}

extern "C" void flor_probe(flor::Probe& probe) {
  probe.log("mean",
            probe.number<double>("with:value") / std::stoi(probe.argument("steps").value()));
}
