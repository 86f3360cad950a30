// Short ways to instrument a text, for tests.
#pragma once

#include "instrument/instrumenter.h"
#include "support/git_repository.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flor::instrument::testing {

inline Instrumented of(const std::string& text, std::uint32_t line = 0) {
  return instrument({.texts = {{"train.cpp", text}}, .own = 1, .line = line});
}
/// The new text; the old one if nothing was changed.
inline std::string text_of(const std::string& text, std::uint32_t line = 0) {
  const Instrumented result = of(text, line);
  return result.files.empty() ? text : result.files.front().after;
}
inline std::vector<std::string> questions_of(const std::string& text) {
  std::vector<std::string> texts;
  for (const Question& question : of(text).questions) texts.push_back(question.text);
  return texts;
}

/// A training with libtorch around these parts: `before` stands before the epochs, `each` in them
/// before the loop over steps, `step` in it, `last` after it, `after` after the epochs.
struct Torch {
  std::string top = "", before = "", each = "", step = "", last = "", after = "";
  std::string epochs = "for (int epoch = 0; epoch < 3; ++epoch)";
  std::string steps = "for (int i = 0; i < 10; ++i)";
};
inline std::string program(const Torch& parts) {
  return "#include <torch/torch.h>\n\n" + parts.top +
         "\nint main() {\n  torch::nn::Linear net(2, 1);\n"
         "  torch::optim::SGD optimizer(net->parameters(), 0.1);\n  auto x = torch::rand({4, "
         "2});\n  " +
         parts.before + "\n  " + parts.epochs + " {\n    " + parts.each + "\n    " + parts.steps +
         " {\n      optimizer.zero_grad();\n      auto loss = net(x).sum();\n      "
         "loss.backward();\n"
         "      optimizer.step();\n      " +
         parts.step + "\n    }\n    " + parts.last + "\n  }\n  " + parts.after + "\n}\n";
}

/// The programs that are built and trained.
inline std::vector<std::filesystem::path> input_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FLOR_TEST_INPUTS)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace flor::instrument::testing
