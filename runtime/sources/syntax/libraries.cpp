#include "sources/syntax/libraries.h"

#include <set>

namespace flor::sources {
namespace {

using Names = std::set<std::string_view>;

const Names& number_methods() {
  static const Names words = {"size",      "numel", "dim",   "item",     "empty",      "length",
                              "capacity",  "count", "contains", "has_value", "defined",  "is_cuda",
                              "ndimension", "element_size", "requires_grad", "is_training",
                              "starts_with", "ends_with", "is_contiguous", "get_lr"};
  return words;
}

/// Methods whose result is new, or a view that is not passed on by reference.
const Names& fresh_methods() {
  static const Names words = {
      "sum",    "mean",   "norm",    "max",     "min",     "argmax",    "argmin", "abs",    "sqrt",
      "exp",    "log",    "pow",     "eq",      "ne",      "lt",        "gt",     "le",     "ge",
      "add",    "sub",    "mul",     "div",     "matmul",  "mm",        "bmm",    "softmax",
      "clone",  "std",    "var",     "equal",   "allclose", "sigmoid",  "tanh",   "relu",
      "log_softmax", "sizes", "strides", "dtype", "device", "scalar_type", "options", "neg",
      "square", "sign",   "round",   "floor",   "ceil",    "clamp",     "cumsum", "prod",   "all",
      "any",    "isnan",  "isfinite", "topk",    "median",    "logical_not", "multinomial",
      "substr", "find",   "rfind",   "compare", "value_or", "type", "nonzero", "histc", "argsort"};
  return words;
}

const Names& view_methods() {
  static const Names words = {
      "slice",   "select",   "index",     "index_select", "narrow",  "view",       "reshape",
      "flatten", "squeeze",  "unsqueeze", "transpose",    "t",       "permute",    "expand",
      "expand_as", "contiguous", "detach", "to",          "cpu",     "cuda",       "chunk",
      "split",   "unbind",   "view_as",   "gather",       "masked_select", "toType", "at",
      "front",   "back",     "begin",     "end",          "cbegin",  "cend",       "rbegin",
      "rend",    "c_str",    "value",     "grad",         "index_put", "first",    "diagonal"};
  return words;
}

const Names& fresh_functions() {
  static const Names words = {
      // the standard library
      "sqrt", "pow", "exp", "log", "log2", "log10", "log1p", "exp2", "abs", "fabs", "floor", "ceil",
      "round", "lround", "trunc", "sin", "cos", "tan", "tanh", "fmod", "hypot", "isnan", "isfinite",
      "isinf", "to_string", "stoi", "stod", "stol", "accumulate", "distance", "inner_product",
      "reduce", "count_if", "fmax", "fmin", "size", "ssize", "make_index_sequence", "signbit",
      // what prints and asserts
      "printf", "fprintf", "puts", "fputs", "putchar", "fflush", "print", "println", "perror",
      "assert", "TORCH_CHECK", "setw", "setprecision", "exit", "abort", "format", "setfill",
      // libtorch
      "randn", "rand", "randint", "randperm", "zeros", "ones", "empty", "full", "arange",
      "linspace", "eye", "tensor", "zeros_like", "ones_like", "rand_like", "randn_like",
      "full_like", "empty_like", "stack", "cat", "matmul", "mm", "bmm", "sum", "mean", "norm",
      "argmax", "argmin", "softmax", "log_softmax", "relu", "sigmoid", "nll_loss", "mse_loss",
      "l1_loss", "cross_entropy", "cross_entropy_loss", "binary_cross_entropy", "smooth_l1_loss",
      "binary_cross_entropy_with_logits", "max_pool2d", "avg_pool2d", "where", "multinomial",
      "manual_seed", "is_available", "device_count", "dropout", "linear", "conv2d", "gelu",
      "eq", "square", "std", "var", "clamp", "normal", "bernoulli", "log_sigmoid",
      "kl_div", "one_hot", "cosine_similarity", "isinf", "einsum", "outer", "dot"};
  return words;
}

const Names& view_functions() {
  static const Names words = {"max", "min", "flatten", "reshape", "squeeze", "unsqueeze",
                              "transpose", "chunk", "split", "get", "as_const", "begin", "end",
                              "cbegin", "cend", "forward", "make_pair"};
  return words;
}

}  // namespace

bool is_number_type(std::string_view word) {
  static const Names words = {
      "bool",     "char",     "int",      "long",     "short",    "unsigned", "signed",
      "float",    "double",   "size_t",   "ptrdiff_t", "int8_t",  "int16_t",  "int32_t",
      "int64_t",  "uint8_t",  "uint16_t", "uint32_t", "uint64_t", "ssize_t",  "byte"};
  return words.contains(word);
}

bool is_setting_type(std::string_view word) {
  static const Names words = {"Device",     "DeviceType", "Dtype", "ScalarType", "TensorOptions",
                              "milliseconds", "seconds",  "IntArrayRef", "NoGradGuard",
                              "AutoGradMode", "InferenceMode", "string_view", "DataLoaderOptions"};
  return words.contains(word);
}

bool is_loss_name(std::string_view word) {
  return word.ends_with("Loss") && word.size() > 4 && word != "AdaptiveLogSoftmaxWithLoss";
}

bool is_setting_method(std::string_view name) {
  static const Names words = {"type",
                              "index",
                              "has_index",
                              "str",
                              "is_cpu",
                              "is_cuda",
                              "is_mps",
                              "dtype",
                              "device",
                              "layout",
                              "requires_grad",
                              "pinned_memory",
                              "count",
                              "size",
                              "length",
                              "empty",
                              "data",
                              "front",
                              "back",
                              "at",
                              "begin",
                              "end",
                              "substr",
                              "find",
                              "rfind",
                              "starts_with",
                              "ends_with",
                              "compare",
                              "forward",
                              "batch_size",
                              "workers",
                              "max_jobs",
                              "timeout",
                              "enforce_ordering",
                              "drop_last",
                              "vec",
                              "equals",
                              "slice",
                              "to"};
  return words.contains(name);
}

bool is_container_type(std::string_view word) {
  static const Names words = {"vector", "array", "deque", "list", "string", "set", "map",
                              "unordered_map", "unordered_set", "multiset", "multimap", "optional",
                              "pair", "tuple"};
  return words.contains(word);
}

bool is_torch_namespace(std::string_view word) {
  static const Names words = {"torch", "at", "c10", "nn", "F", "flor"};
  return words.contains(word);
}
bool is_open_namespace(std::string_view word) {
  static const Names words = {"ops", "classes", "filesystem", "cuda",         "hip",
                              "mps", "jit",     "GradMode",   "AutoGradMode", "InferenceMode"};
  return words.contains(word);
}
bool is_stateless_namespace(std::string_view word) {
  static const Names words = {"fmt", "spdlog", "chrono", "numbers", "ranges", "views"};
  return words.contains(word);
}
bool is_library_namespace(std::string_view word) {
  return word == "std" || is_torch_namespace(word);
}

Purity method_purity(std::string_view name) {
  if (number_methods().contains(name)) return {true, true, true};
  if (fresh_methods().contains(name)) return {true, true, false};
  return {view_methods().contains(name), false, false};
}

bool works_in_place(std::string_view name) { return name.ends_with('_') && name != "set_"; }

Purity function_purity(std::string_view name) {
  if (is_number_type(name)) return {true, true, true};
  if (fresh_functions().contains(name)) return {true, true, false};
  return {view_functions().contains(name), false, false};
}

bool has_hidden_state(std::string_view name) {
  static const Names words = {
      "rand", "srand", "random", "drand48", "strtok", "time", "clock", "getline", "setlocale",
      "getenv", "now", "random_device", "get_id", "getpid", "gettimeofday", "clock_gettime",
      "globalContext", "signal", "sigaction", "raise", "kill", "sleep_for", "sleep_until",
      // the process's own settings, and files by their names
      "fesetround", "fegetround", "fesetenv", "fegetenv", "feholdexcept", "feupdateenv",
      "feclearexcept", "feraiseexcept", "fetestexcept", "localeconv", "locale", "global",
      "set_terminate", "get_terminate", "set_new_handler", "get_new_handler", "setenv", "putenv",
      "unsetenv", "secure_getenv", "system", "rename", "tmpfile", "tmpnam", "fopen", "freopen",
      "mblen", "mbtowc", "wctomb", "uncaught_exceptions", "ifstream", "ofstream", "fstream",
      "filebuf", "lrand48", "mrand48", "srand48", "asctime", "localtime", "gmtime", "ctime",
      "atexit", "sync_with_stdio"};
  return words.contains(name);
}

}  // namespace flor::sources
