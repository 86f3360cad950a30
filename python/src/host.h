// The program as the engine sees it where Python executes it: its script, its sources, the state of
// the process that every checkpoint holds.
#pragma once

#include "gil.h"

namespace flor::python {

/// Adds host(callbacks): tells the engine that this process executes a script. See flor/_host.py.
void bind_host(py::module_& module);

}  // namespace flor::python
