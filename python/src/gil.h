// Python objects held by the engine: its threads hold them without the interpreter's lock (GIL),
// call them with it, and never touch them after the interpreter has ended.
#pragma once

#include <flor/store/error.h>

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <utility>

namespace flor::python {

namespace py = pybind11;

inline bool interpreter_lives() { return Py_IsInitialized() != 0; }

/// A reference that any thread may release.
inline std::shared_ptr<void> hold(py::object object) {
  return {object.release().ptr(), [](void* held) {
            if (!interpreter_lives()) return;
            const py::gil_scoped_acquire lock;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}
inline py::object held_by(const std::shared_ptr<void>& reference) {
  if (!reference) return py::none();
  return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(reference.get()));
}

/// A Python exception as one line: an error of Flor by its message, any other with its type.
std::string one_line(py::error_already_set& error);

/// Calls a Python function from the engine. Throws Error if it raises, because the engine knows
/// only its own exceptions.
template <typename Result, typename... Arguments>
Result call(const std::shared_ptr<void>& function, Arguments&&... arguments) {
  if (!interpreter_lives()) throw Error("Python has ended");
  const py::gil_scoped_acquire lock;
  try {
    py::object result = held_by(function)(std::forward<Arguments>(arguments)...);
    if constexpr (!std::is_void_v<Result>) return result.template cast<Result>();
  } catch (py::error_already_set& error) {
    throw Error(one_line(error));
  } catch (const py::cast_error& error) {
    throw Error(error.what());
  }
}

}  // namespace flor::python
