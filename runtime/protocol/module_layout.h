// The text that describes the tensors of a module or of a registered tensor: one line for each
// tensor or submodule. It is stored beside them as the item ".layout", which cannot be the name of
// a parameter, since that contains no dot. It is text because people read it with the `flor`
// command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flor::libtorch {

inline constexpr std::string_view kLayoutItem = ".layout";

struct LayoutEntry {
  std::string kind;         ///< "parameter", "buffer", "tensor", "module"
  std::string type = "-";   ///< element type, e.g. "Float"
  std::string shape = "-";  ///< e.g. "[64,32]"
  std::string device = "-";
  std::string strides = "-";  ///< e.g. "[1,64]"; "-" if row-major without gaps
  bool flag = false;  ///< tensor: requires a gradient; module: is in training mode
  std::string gradient = "-";
  int origin = -1;  ///< index of the earlier entry that is the same tensor (tied weights); -1: none
  std::string name;  ///< last in the line, since it may contain spaces
};

std::string to_text(const std::vector<LayoutEntry>& entries);
std::vector<LayoutEntry> parse_layout(const std::string& text);

}  // namespace flor::libtorch
