// Includes the header, and defines another function than it should.
#include <flor/plugin/probe.h>

extern "C" [[gnu::visibility("default")]] void flor_prob(flor::Probe& probe);
extern "C" void flor_prob(flor::Probe& probe) { probe.log("never", 1); }
