// A question of a recorded session, as Python sees it.
#pragma once

#include "gil.h"

namespace flor::python {

void bind_questions(py::module_& module);

}  // namespace flor::python
