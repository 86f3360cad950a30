// An evaluator: measures checkpoints of `linear` on its test set, while it trains or afterwards:
//
//   flor watch --experiment linear --as pt --evaluator liblinear_judge.so:test_set
//
// Set LINEAR_PICTURES and LINEAR_DATA to the training's values of pictures= and --data.
#include "data.h"

#include <flor/plugin/evaluator.h>

#include <torch/torch.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using State = c10::Dict<c10::IValue, c10::IValue>;

const examples::Pictures& test_pictures() {
  static const examples::Split split = [] {
    const char* const data = std::getenv("LINEAR_DATA");
    const char* const count = std::getenv("LINEAR_PICTURES");
    return examples::load_pictures(data ? data : "", count ? std::stoll(count) : 12'000);
  }();
  return split.test;
}

State load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  return torch::pickle_load(bytes).toGenericDict();
}

/// Applies one linear layer. In the network of `linear` the layers 1, 4 and 7 have weights.
torch::Tensor apply(const State& state, const std::string& layer, const torch::Tensor& input) {
  const auto weight = state.at(layer + ".weight").toTensor();
  return torch::nn::functional::linear(input, weight, state.at(layer + ".bias").toTensor());
}

}  // namespace

extern "C" {
flor_evaluator test_set;

const char* test_set(const char* path) {
  const torch::NoGradGuard no_grad;
  const examples::Pictures& test = test_pictures();  // each worker reads them once
  const State state = load(path);
  const auto first = apply(state, "1", test.images.flatten(1)).relu();
  const auto scores = apply(state, "7", apply(state, "4", first).relu());
  const auto loss = torch::nn::functional::cross_entropy(scores, test.labels).item<double>();
  const auto right = scores.argmax(1).eq(test.labels).to(torch::kFloat).mean().item<double>();
  static std::string result;
  result = "{\"accuracy\": " + std::to_string(right) + ", \"loss\": " + std::to_string(loss) + "}";
  return result.c_str();
}
}
