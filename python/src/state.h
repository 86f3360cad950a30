// State that Python code saves and loads, as slots of the engine.
#pragma once

#include "gil.h"

#include <flor/state.h>

#include <string>
#include <vector>

namespace flor::python {

/// `object` has `name`, `kind`, `save(writer)` and `load(reader)`, see flor/_slots.py.
detail::Slot slot_of(const py::object& object);
std::vector<detail::Slot> slots_of(const py::iterable& objects);

/// Adds the classes StateWriter, StateReader and Placement to the module.
void bind_state(py::module_& module);

}  // namespace flor::python
