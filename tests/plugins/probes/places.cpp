// Called wherever a plug-in can be called.
#include <flor/plugin/probe.h>

extern "C" std::uint32_t flor_probe_places() {
  return flor::ProbeAt::epoch_end | flor::ProbeAt::loop_end | flor::ProbeAt::loop_begin |
         flor::ProbeAt::step_end;
}

extern "C" void flor_probe(flor::Probe& probe) {
  const flor::ProbePlace& place = probe.place();
  const char* at = place.at == flor::ProbeAt::epoch_end    ? "epoch end"
                   : place.at == flor::ProbeAt::loop_end   ? "loop end"
                   : place.at == flor::ProbeAt::loop_begin ? "loop begin"
                                                           : "step end";
  probe.log(at, std::string(place.main_loop_name) + "/" + place.nested_loop_name + " " +
                    std::to_string(place.epoch) + "," + std::to_string(place.iteration) + "," +
                    std::to_string(place.step));
  if (place.at == flor::ProbeAt::step_end) {
    probe.log("weight", probe.numbers<double>("weights/values").at(0));
  }
}
