// One call of flor.pinned, as Python sees it.
#pragma once

#include "gil.h"

namespace flor::python {

void bind_pinned(py::module_& module);

}  // namespace flor::python
