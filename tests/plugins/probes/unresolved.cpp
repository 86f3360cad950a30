// Calls what only programs have.
#include <flor/plugin/probe.h>

extern "C" void flor_probe(flor::Probe& probe) { flor::log("never", probe.epoch()); }
