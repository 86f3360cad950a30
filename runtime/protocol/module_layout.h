// The description that lies beside the tensors of a module or a registered tensor: one line a
// tensor or submodule, the item ".layout" (no parameter's name can contain a dot). As text, because
// people read it with the `flor` command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flor::libtorch {

inline constexpr std::string_view kLayoutItem = ".layout";

struct LayoutEntry {
  std::string kind;         ///< "parameter", "buffer", "tensor", "module"
  std::string type = "-";   ///< "Float"
  std::string shape = "-";  ///< "[64,32]"
  std::string device = "-";
  std::string strides = "-";  ///< "[1,64]", unless the elements lie in order without gaps
  bool flag = false;  ///< requires a gradient, or is in training mode
  std::string gradient = "-";
  int origin = -1;   ///< index of the earlier entry that is the same tensor (tied weights)
  std::string name;  ///< last on the line, since it may contain spaces
};

std::string to_text(const std::vector<LayoutEntry>& entries);
std::vector<LayoutEntry> parse_layout(const std::string& text);

}  // namespace flor::libtorch
