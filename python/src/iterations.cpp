#include "iterations.h"

#include "errors.h"

#include <flor/iteration.h>

#include <memory>
#include <string_view>

namespace flor::python {
namespace {

std::string bytes_of(PyObject* object) {
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(object, &bytes, &size) != 0) return {};
  return {bytes, static_cast<std::size_t>(size)};
}

/// Halves of surrogate pairs, which names of files have, become the bytes that they stand for.
IterationValue text_of(PyObject* text) {
  Py_ssize_t size = 0;
  if (const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size)) {
    return std::string(utf8, static_cast<std::size_t>(size));
  }
  PyErr_Clear();
  const auto bytes = py::reinterpret_steal<py::object>(
      PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape"));
  if (bytes) return bytes_of(bytes.ptr());
  PyErr_Clear();
  return {};
}

IterationValue path_of(PyObject* element) {
  const auto path = py::reinterpret_steal<py::object>(PyOS_FSPath(element));
  if (!path) {
    PyErr_Clear();
    return {};
  }
  return PyUnicode_Check(path.ptr()) ? text_of(path.ptr()) : bytes_of(path.ptr());
}

IterationValue whole(PyObject* number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) return std::int64_t{value};
  const auto text = py::reinterpret_steal<py::object>(_PyLong_Format(number, 10));
  if (text) return text_of(text.ptr());
  PyErr_Clear();
  return {};
}

/// A number of NumPy that is none of Python's own types.
IterationValue scalar_of_numpy(PyObject* element, std::string_view type) {
  if (type.starts_with("numpy.int") || type.starts_with("numpy.uint")) {
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(element));
    if (number) return whole(number.ptr());
  } else if (type.starts_with("numpy.float")) {
    const double number = PyFloat_AsDouble(element);
    if (!PyErr_Occurred()) return number;
  }
  PyErr_Clear();
  return {};
}

IterationValue value_of(PyObject* element) {
  if (PyBool_Check(element)) return {};
  if (PyLong_Check(element)) return whole(element);
  if (PyFloat_Check(element)) return PyFloat_AS_DOUBLE(element);
  if (PyUnicode_Check(element)) return text_of(element);
  const std::string_view type = Py_TYPE(element)->tp_name;
  if (type.starts_with("numpy.")) return scalar_of_numpy(element, type);
  if (PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(element)), "__fspath__")) {
    return path_of(element);
  }
  return {};
}

/// A scope of flor.iteration, until `end`.
class OpenIteration {
 public:
  OpenIteration(const std::string& name, std::int64_t index, const py::object& value) {
    std::visit(
        [&](const auto& plain) {
          if constexpr (std::same_as<std::remove_cvref_t<decltype(plain)>, std::monostate>) {
            iteration_ = std::make_unique<Iteration>(name, index);
          } else {
            iteration_ = std::make_unique<Iteration>(name, index, plain);
          }
        },
        value_of(value.ptr()));
  }
  void end() { iteration_.reset(); }

 private:
  std::unique_ptr<Iteration> iteration_;
};

}  // namespace

IterationValue IterationValues::of(PyObject* element) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(element));
  if (type == without_value_.ptr()) return {};
  IterationValue value = value_of(element);
  if (std::holds_alternative<std::monostate>(value)) {
    without_value_ = py::reinterpret_borrow<py::object>(type);
  }
  return value;
}

void bind_iterations(py::module_& module) {
  py::class_<OpenIteration>(module, "Iteration")
      .def(py::init<const std::string&, std::int64_t, const py::object&>())
      .def("end", &OpenIteration::end);
}

}  // namespace flor::python
