// flor.log and related functions.
#pragma once

#include "gil.h"

namespace flor::python {

void bind_logging(py::module_& module);

}  // namespace flor::python
