// Converts the description of modules and tensors to text and back.
#include "protocol/module_layout.h"

#include <flor/store/error.h>

#include <locale>
#include <sstream>

namespace flor::libtorch {

std::string to_text(const std::vector<LayoutEntry>& entries) {
  std::string text;
  for (const LayoutEntry& entry : entries) {
    for (const std::string* field : {&entry.kind, &entry.type, &entry.shape, &entry.device, &entry.strides}) {
      text.append(*field).append(" ");
    }
    text.append(entry.flag ? "1 " : "0 ").append(entry.gradient).append(" ");
    text.append(std::to_string(entry.origin)).append(" ").append(entry.name).append("\n");
  }
  return text;
}

std::vector<LayoutEntry> parse_layout(const std::string& text) {
  std::vector<LayoutEntry> entries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    in.imbue(std::locale::classic());
    LayoutEntry entry;
    in >> entry.kind >> entry.type >> entry.shape >> entry.device >> entry.strides >> entry.flag >>
        entry.gradient >> entry.origin;
    if (in.fail() || in.get() != ' ') throw Error("the recorded layout of a model is damaged");
    std::getline(in, entry.name);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace flor::libtorch
