#include "pinned.h"

#include <flor/pinned.h>

#include <pybind11/stl.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flor::python {
namespace {

using detail::PinnedCall;
using detail::PinnedValue;
using Form = PinnedValue::Form;

py::bytes bytes_of(const PinnedValue& value) {
  return {reinterpret_cast<const char*>(value.content.data()), value.content.size()};
}

/// (what it was, the value); of an array the value is (type of elements, shape, bytes). None: the
/// function is to be called.
py::object recorded(const PinnedCall& call) {
  const PinnedValue* value = call.recorded();
  if (!value) return py::none();
  switch (value->form) {
    case Form::boolean:
      return py::make_tuple("plain", value->bits != 0);
    case Form::integer:
      return py::make_tuple("plain", static_cast<std::int64_t>(value->bits));
    case Form::real:
      return py::make_tuple("plain", std::bit_cast<double>(value->bits));
    case Form::text:
      return py::make_tuple("plain", value->text);
    case Form::json:
      return py::make_tuple("json", value->text);
    case Form::array:
      break;
  }
  const std::string& what = value->item.name;
  if (what == "text") return py::make_tuple("plain", bytes_of(*value).attr("decode")());
  if (what == "json") return py::make_tuple("json", bytes_of(*value).attr("decode")());
  return py::make_tuple(what, py::make_tuple(static_cast<int>(value->item.type), value->item.sizes,
                                             bytes_of(*value)));
}

PinnedValue array_at(const std::string& what, int type, std::vector<std::int64_t> sizes,
                     std::uintptr_t address, std::size_t bytes) {
  PinnedValue value = PinnedValue::array(what, static_cast<store::ElementType>(type), 0,
                                         reinterpret_cast<const void*>(address), bytes);
  value.item.sizes = std::move(sizes);
  return value;
}

}  // namespace

void bind_pinned(py::module_& module) {
  py::class_<PinnedCall>(module, "PinnedCall")
      .def(py::init([](const std::string& name) {
        const py::gil_scoped_release released;
        return std::make_unique<PinnedCall>(name);
      }))
      .def_property_readonly("pins", &PinnedCall::pins)
      .def("recorded", &recorded)
      .def("begin", &PinnedCall::begin)
      .def("end", &PinnedCall::end)
      .def("keep_boolean",
           [](PinnedCall& call, bool value) { call.keep(detail::to_pinned(value)); })
      .def("keep_integer",
           [](PinnedCall& call, std::int64_t value) { call.keep(detail::to_pinned(value)); })
      .def("keep_real", [](PinnedCall& call, double value) { call.keep(detail::to_pinned(value)); })
      .def("keep_text",
           [](PinnedCall& call, const std::string& text) { call.keep(detail::pinned_text(text)); })
      .def("keep_json",
           [](PinnedCall& call, const std::string& text) { call.keep(detail::pinned_json(text)); })
      .def("keep_array",
           [](PinnedCall& call, const std::string& what, int type, std::vector<std::int64_t> sizes,
              std::uintptr_t address, std::size_t bytes) {
             call.keep(array_at(what, type, std::move(sizes), address, bytes));
           })
      .def("keep_exception",
           [](PinnedCall& call, const std::string& type, const std::string& message) {
             call.keep_exception(type, message);
           });
}

}  // namespace flor::python
