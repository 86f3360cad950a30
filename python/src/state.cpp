#include "state.h"

#include <flor/state/state_io.h>

#include <pybind11/stl.h>

#include <cstring>
#include <set>

namespace flor::python {
namespace {

/// A view of a text that lives as long as the process. Suitable because there are few different
/// texts.
std::string_view lasting(const std::string& text) {
  static auto* const texts = new std::set<std::string>;
  return *texts->insert(text).first;
}

template <typename T>
T* at_address(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

/// Where the parts of the state that share memory must lie after a restore.
struct PlacementView {
  const Placement* placement;
};

void write_tensor(const StateWriter& writer, const std::string& name, int type,
                  std::vector<std::int64_t> sizes, std::uintptr_t address, std::size_t bytes) {
  writer.tensor(name, {.type = static_cast<ElementType>(type),
                       .sizes = std::move(sizes),
                       .bytes = bytes,
                       .host = at_address<const std::byte>(address),
                       .copy = {}});
}

void write_place(const StateWriter& writer, const std::string& name, const std::string& type,
                 std::uintptr_t block, std::uint64_t block_bytes, std::uint64_t offset,
                 std::uint64_t bytes, std::vector<std::int64_t> strides, int firmness,
                 const py::object& object) {
  writer.place(name, {.type = type,
                      .block = at_address<const void>(block),
                      .block_bytes = block_bytes,
                      .offset = offset,
                      .bytes = bytes,
                      .strides = std::move(strides),
                      .object = object.ptr(),
                      .firmness = firmness,
                      .handle = hold(object)});
}

void read_into(const StateReader& reader, const std::string& name, int type,
               std::vector<std::int64_t> sizes, std::uintptr_t address, std::size_t bytes,
               const py::object& keep_alive) {
  reader.tensor(name, {.type = static_cast<ElementType>(type),
                       .sizes = std::move(sizes),
                       .bytes = bytes,
                       .host = at_address<std::byte>(address),
                       .assign = {},
                       .keep_alive = hold(keep_alive)});
}

void read_through(const StateReader& reader, const std::string& name, int type,
                  std::vector<std::int64_t> sizes, std::size_t bytes, const py::object& assign) {
  reader.tensor(name, {.type = static_cast<ElementType>(type),
                       .sizes = std::move(sizes),
                       .bytes = bytes,
                       .host = nullptr,
                       .assign =
                           [function = hold(assign)](const std::byte* content) {
                             call<void>(function, reinterpret_cast<std::uintptr_t>(content));
                           },
                       .keep_alive = {}});
}

py::object placement_of(const StateReader& reader, const std::string& name) {
  const Placement* placement = reader.placement(name);
  return placement ? py::cast(PlacementView{placement}) : py::none();
}

py::object handle_in(const std::shared_ptr<std::shared_ptr<void>>& place) {
  return place ? held_by(*place) : py::none();
}

}  // namespace

std::string one_line(py::error_already_set& error) {
  std::string text = py::str(error.value());
  const auto known = py::module_::import("flor._engine").attr("Error");
  if (!error.matches(known)) {
    const std::string type = py::str(error.type().attr("__name__"));
    text = text.empty() ? type : type + ": " + text;
  }
  return text.substr(0, text.find('\n'));
}

detail::Slot slot_of(const py::object& object) {
  return {.name = object.attr("name").cast<std::string>(),
          .kind = lasting(object.attr("kind").cast<std::string>()),
          .save =
              [save = hold(object.attr("save"))](const StateWriter& writer) {
                if (!interpreter_lives()) return;
                const py::gil_scoped_acquire lock;
                call<void>(save, py::cast(&writer, py::return_value_policy::reference));
              },
          .load =
              [load = hold(object.attr("load"))](const StateReader& reader) {
                const py::gil_scoped_acquire lock;
                call<void>(load, py::cast(&reader, py::return_value_policy::reference));
              },
          .overlapping = false};
}

std::vector<detail::Slot> slots_of(const py::iterable& objects) {
  std::vector<detail::Slot> slots;
  for (const py::handle object : objects) {
    slots.push_back(slot_of(py::reinterpret_borrow<py::object>(object)));
  }
  return slots;
}

void bind_state(py::module_& module) {
  py::class_<StateWriter>(module, "StateWriter")
      .def_property_readonly("wants_content", &StateWriter::wants_content)
      .def("full_name", &StateWriter::full_name)
      .def("bytes",
           [](const StateWriter& writer, const std::string& name, const py::bytes& content) {
             writer.bytes(name, std::string_view(content));
           })
      .def("tensor", &write_tensor)
      .def("place", &write_place);
  py::class_<StateReader>(module, "StateReader")
      .def("full_name", &StateReader::full_name)
      .def("has", &StateReader::has)
      .def("item",
           [](const StateReader& reader, const std::string& name) {
             const store::Item& item = reader.item(name);
             return std::tuple(static_cast<int>(item.type), item.sizes, item.bytes);
           })
      .def("bytes", [](const StateReader& reader,
                       const std::string& name) { return py::bytes(reader.bytes(name)); })
      .def("tensor_into", &read_into)
      .def("tensor_through", &read_through)
      .def("placement", &placement_of);
  py::class_<PlacementView>(module, "Placement")
      .def_property_readonly("in_place",
                             [](const PlacementView& view) { return view.placement->in_place; })
      .def_property_readonly("shares",
                             [](const PlacementView& view) { return !!view.placement->block; })
      .def_property_readonly("offset",
                             [](const PlacementView& view) { return view.placement->offset; })
      .def_property_readonly("strides",
                             [](const PlacementView& view) { return view.placement->strides; })
      .def_property_readonly("block_bytes",
                             [](const PlacementView& view) { return view.placement->block_bytes; })
      .def_property(
          "block", [](const PlacementView& view) { return handle_in(view.placement->block); },
          [](const PlacementView& view, const py::object& object) {
            if (view.placement->block) *view.placement->block = hold(object);
          })
      .def_property(
          "object", [](const PlacementView& view) { return handle_in(view.placement->object); },
          [](const PlacementView& view, const py::object& object) {
            if (view.placement->object) *view.placement->object = hold(object);
          });
}

}  // namespace flor::python
