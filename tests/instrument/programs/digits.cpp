// A classifier whose epochs call functions: templates over the loader, the optimizer by its base.
#include <torch/torch.h>

#include <cstddef>
#include <cstdio>
#include <utility>

const int64_t kSamples = 192;
const int64_t kBatch = 32;
const int64_t kEpochs = 4;
const int64_t kLogInterval = 2;

class Points : public torch::data::datasets::Dataset<Points> {
 public:
  explicit Points(int64_t seed) {
    torch::manual_seed(seed);
    inputs_ = torch::randn({kSamples, 8});
    targets_ = inputs_.sum(1).gt(0).to(torch::kLong);
  }
  torch::data::Example<> get(size_t index) override {
    return {inputs_[static_cast<int64_t>(index)], targets_[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return static_cast<size_t>(kSamples); }

 private:
  torch::Tensor inputs_, targets_;
};

struct Net : torch::nn::Module {
  Net() : first(8, 16), second(16, 2) {
    register_module("first", first);
    register_module("drop", drop);
    register_module("second", second);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(first->forward(x));
    x = drop->forward(x);
    return torch::log_softmax(second->forward(x), /*dim=*/1);
  }
  torch::nn::Linear first;
  torch::nn::Dropout drop;
  torch::nn::Linear second;
};

template <typename DataLoader>
void train(
    size_t epoch,
    Net& model,
    torch::Device device,
    DataLoader& data_loader,
    torch::optim::Optimizer& optimizer) {
  model.train();
  size_t batch_idx = 0;
  for (auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    loss.backward();
    optimizer.step();
    // here: loss.template item<float>()
    if (batch_idx++ % kLogInterval == 0) {
      std::printf("Train Epoch: %zu [%zu] Loss: %.4f\n", epoch, batch_idx, loss.template item<float>());
    }
  }
}

template <typename DataLoader>
void test(Net& model, torch::Device device, DataLoader& data_loader) {
  torch::NoGradGuard no_grad;
  model.eval();
  double test_loss = 0;
  int64_t correct = 0;
  for (const auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    test_loss += torch::nll_loss(output, targets, {}, torch::Reduction::Sum).template item<float>();
    correct += output.argmax(1).eq(targets).sum().template item<int64_t>();
  }
  test_loss /= kSamples;
  std::printf("Test set: Average loss: %.4f | Accuracy: %.3f\n", test_loss,
              static_cast<double>(correct) / kSamples);
}

auto main() -> int {
  torch::manual_seed(1);
  torch::Device device(torch::kCPU);

  Net model;
  model.to(device);

  auto train_loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      Points(2).map(torch::data::transforms::Stack<>()), kBatch);
  auto test_loader =
      torch::data::make_data_loader(Points(3).map(torch::data::transforms::Stack<>()), kBatch);

  torch::optim::SGD optimizer(
      model.parameters(), torch::optim::SGDOptions(0.05).momentum(0.5));

  for (size_t epoch = 1; epoch <= kEpochs; ++epoch) {
    train(epoch, model, device, *train_loader, optimizer);
    test(model, device, *test_loader);
  }
}
