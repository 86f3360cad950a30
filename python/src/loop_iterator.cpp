#include "loop_iterator.h"

#include "errors.h"
#include "iterations.h"
#include "state.h"

#include <flor/loop.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace flor::python {
namespace {

using detail::LoopScope;

/// Thrown when the range has raised; the Python exception is already set.
struct RangeFailed {};

/// Thrown to end a scope as if by a C++ exception.
struct Unwound {};

const char* lasting(const std::string& text) {
  static auto* const texts = new std::set<std::string>;
  return texts->insert(text).first->c_str();
}

/// Runs a part of the engine without the interpreter's lock (GIL), because it may wait for threads
/// that need the lock.
template <typename Body>
decltype(auto) unlocked(Body&& body) {
  const py::gil_scoped_release released;
  return body();
}

/// The elements of a range and a current position in it. Ranges, lists and tuples are accessed by
/// index; any other range can only move forwards.
class Elements {
 public:
  explicit Elements(py::object range) : range_(std::move(range)) {
    random_access_ = PyRange_Check(range_.ptr()) || PyList_Check(range_.ptr()) ||
                     PyTuple_Check(range_.ptr());
  }
  bool random_access() const { return random_access_; }
  std::size_t size() const { return py::len(range_); }
  bool over() const { return over_; }

  void open() {
    if (random_access_) return settle();
    iterator_ = py::reinterpret_steal<py::object>(PyObject_GetIter(range_.ptr()));
    if (!iterator_) throw RangeFailed{};
    take();
  }
  void step(std::int64_t steps) {
    if (random_access_) {
      index_ += steps;
      return settle();
    }
    for (; steps > 0 && !over_; --steps) take();
  }
  py::object current() {
    if (!random_access_) return std::move(current_);
    PyObject* element = PySequence_GetItem(range_.ptr(), index_);
    if (!element) throw RangeFailed{};
    return py::reinterpret_steal<py::object>(element);
  }
  void close() {
    current_ = iterator_ = py::object();
    over_ = true;
  }
  int traverse(visitproc visit, void* arg) {
    Py_VISIT(range_.ptr());
    Py_VISIT(iterator_.ptr());
    Py_VISIT(current_.ptr());
    return 0;
  }

 private:
  void settle() {
    const Py_ssize_t size = PySequence_Size(range_.ptr());
    if (size < 0) throw RangeFailed{};
    over_ = index_ >= size;
  }
  void take() {
    current_ = py::reinterpret_steal<py::object>(PyIter_Next(iterator_.ptr()));
    if (!current_ && PyErr_Occurred()) throw RangeFailed{};
    over_ = !current_;
  }

  py::object range_, iterator_, current_;
  Py_ssize_t index_ = 0;
  bool random_access_ = false, over_ = false;
};

class Loop;

/// The loops that this thread has begun and not ended, outer ones first. Only the session's thread,
/// and threads inside a flor.iteration, have loops.
std::vector<Loop*>& open_loops() {
  static thread_local auto* const loops = new std::vector<Loop*>;
  return *loops;
}

class Loop {
 public:
  Loop(std::unique_ptr<LoopScope> scope, py::object range, const detail::LoopPlace& place)
      : scope_(std::move(scope)), elements_(std::move(range)), place_(place) {}

  /// The next element; null if the loop ends. Throws.
  PyObject* next() {
    if (ended_) return nullptr;
    if (scope_) end_inner();
    begun_ ? advance() : begin();
    if (ended_) return nullptr;
    py::object element = elements_.current();
    if (scope_) note(element.ptr());
    return element.release().ptr();
  }

  /// Ends the loop. `failed`: by an exception.
  void end(bool failed) {
    end_inner();
    std::erase(open_loops(), this);
    ended_ = true;
    elements_.close();
    if (!scope_) return;
    std::unique_ptr<LoopScope> scope = std::move(scope_);
    unlocked([&] {
      try {
        const std::unique_ptr<LoopScope> ending = std::move(scope);
        if (failed) throw Unwound{};
      } catch (const Unwound&) {
      }
    });
  }
  bool ended() const { return ended_; }
  Elements& elements() { return elements_; }

 private:
  void begin() {
    begun_ = true;
    if (!scope_) return open_plain();
    const auto start =
        unlocked([&] { return scope_->begin(elements_.random_access(), place_); });
    open_loops().push_back(this);
    if (!start.visit) return end(false);
    elements_.open();
    if (elements_.random_access()) scope_->count(elements_.size());
    if (start.skip > 0) {
      elements_.step(static_cast<std::int64_t>(start.skip) - 1);
      arrive();
      elements_.step(1);
    }
    settle();
  }
  void open_plain() {
    elements_.open();
    if (elements_.over()) end(false);
  }
  void advance() {
    if (!scope_) {
      elements_.step(1);
      if (elements_.over()) end(false);
      return;
    }
    const auto move = unlocked([&] { return scope_->leave(); });
    if (!move.go_on) return end(false);
    if (move.steps == 1) {
      elements_.step(1);
    } else if (elements_.random_access()) {
      elements_.step(move.steps);
      arrive();
    } else {
      elements_.step(move.steps - 1);
      arrive();
      elements_.step(1);
    }
    settle();
  }
  void note(PyObject* element) {
    std::visit(
        [&](const auto& value) {
          if constexpr (!std::same_as<std::remove_cvref_t<decltype(value)>, std::monostate>) {
            scope_->note(value);
          }
        },
        values_.of(element));
  }
  void arrive() {
    unlocked([&] { scope_->arrive(elements_.over()); });
  }
  void settle() {
    if (elements_.over()) scope_->exhaust();
    if (elements_.over() || !unlocked([&] { return scope_->enter(); })) end(false);
  }
  /// Ends inner loops that are still open although this one continues: it is unknown how they were
  /// left, so they count as failed.
  void end_inner() {
    if (std::ranges::find(open_loops(), this) == open_loops().end()) return;
    while (open_loops().back() != this) open_loops().back()->end(/*failed=*/true);
  }

  std::unique_ptr<LoopScope> scope_;
  Elements elements_;
  IterationValues values_;
  detail::LoopPlace place_;
  bool begun_ = false, ended_ = false;
};

struct LoopObject {
  PyObject_HEAD
  Loop* loop;
};

Loop*& loop_in(PyObject* self) { return reinterpret_cast<LoopObject*>(self)->loop; }

/// Whether the frame is at an instruction that pops the iterator, i.e. a `break` or a `return`
/// leaves the loop. When an exception leaves it, the frame is at the instruction that raised.
bool stands_at_pop(const py::object& frame) {
  constexpr int kPopTop = 1;
  const auto code = frame.attr("f_code").attr("co_code").cast<std::string>();
  const auto last = frame.attr("f_lasti").cast<long>();
  if (last < 0 || static_cast<std::size_t>(last) >= code.size()) return false;
  const int instruction = static_cast<unsigned char>(code[static_cast<std::size_t>(last)]);
  if (instruction == kPopTop) return true;
  static const int pop_iterator = [] {  // in newer versions of Python
    const py::object names = py::module_::import("opcode").attr("opmap");
    return names.attr("get")("POP_ITER", -1).cast<int>();
  }();
  return instruction == pop_iterator;
}

/// The frame whose `for` iterates over the loop; generators that only pass its elements on are
/// skipped.
py::object frame_of_loop(bool closing) {
  constexpr long kGenerator = 0x20;
  py::object frame =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (closing && frame && !frame.is_none() &&
         (frame.attr("f_code").attr("co_flags").cast<long>() & kGenerator) != 0) {
    frame = frame.attr("f_back");
  }
  return frame;
}

/// Whether an exception leaves the loop, to which no reference is left.
bool is_left_by_exception(PyObject* raised) {
  const bool closing = raised && PyErr_GivenExceptionMatches(raised, PyExc_GeneratorExit);
  if (raised && !closing) return true;
  try {
    const py::object frame = frame_of_loop(closing);
    return !frame || frame.is_none() || !stands_at_pop(frame);
  } catch (...) {
    PyErr_Clear();
    return true;
  }
}

void translate() {
  try {
    throw;
  } catch (const RangeFailed&) {
    // Python's error indicator is set already
  } catch (...) {
    raise_in_python(std::current_exception());
  }
}

PyObject* next_element(PyObject* self) {
  Loop* loop = loop_in(self);
  if (!loop) return nullptr;
  try {
    return loop->next();
  } catch (...) {
    translate();
  }
  // Ends the loop; the exception that is being raised is kept.
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  loop->end(/*failed=*/true);
  PyErr_Restore(type, value, trace);
  return nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Loop* loop = loop_in(self);
  return loop ? loop->elements().traverse(visit, arg) : 0;
}

void let_go(PyObject* self, bool in_cycle) {
  Loop* loop = std::exchange(loop_in(self), nullptr);
  if (!loop) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (!loop->ended()) loop->end(in_cycle || is_left_by_exception(type));
  delete loop;
  PyErr_Restore(type, value, trace);
}

int clear(PyObject* self) {
  let_go(self, /*in_cycle=*/true);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  let_go(self, /*in_cycle=*/false);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject*) {
  const char *name = nullptr, *file = nullptr;
  PyObject *range = nullptr, *attached = nullptr;
  int probed = 0, line = 0;
  if (!PyArg_ParseTuple(arguments, "zOpOsi", &name, &range, &probed, &attached, &file, &line)) {
    return nullptr;
  }
  try {
    detail::LoopSettings settings;
    settings.probed = probed != 0;
    settings.attached = slots_of(py::reinterpret_borrow<py::iterable>(attached));
    auto scope = detail::open_scope(name ? name : "", std::move(settings));
    const detail::LoopPlace place{lasting(file), static_cast<unsigned>(line), 0};
    auto loop = std::make_unique<Loop>(std::move(scope),
                                       py::reinterpret_borrow<py::object>(range), place);
    PyObject* self = type->tp_alloc(type, 0);
    if (self) loop_in(self) = loop.release();
    return self;
  } catch (...) {
    translate();
    return nullptr;
  }
}

}  // namespace

void bind_loop_iterator(py::module_& module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The iterator of a flor.loop.")},
      {Py_tp_new, reinterpret_cast<void*>(&make)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(&clear)},
      {Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
      {Py_tp_iternext, reinterpret_cast<void*>(&next_element)},
      {0, nullptr}};
  static PyType_Spec spec{.name = "flor._engine.LoopIterator",
                          .basicsize = sizeof(LoopObject),
                          .itemsize = 0,
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                          .slots = slots};
  py::object type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  module.attr("LoopIterator") = type;
}

}  // namespace flor::python
