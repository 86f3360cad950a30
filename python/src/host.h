// Describes a program that Python executes to the engine: its script, its sources, and the state of
// the process that every checkpoint contains.
#pragma once

#include "gil.h"

namespace flor::python {

/// Adds host(callbacks), which tells the engine that this process executes a script. See
/// flor/_host.py.
void bind_host(py::module_& module);

}  // namespace flor::python
