// A recurrent network: hidden states pass from step to step, and steps are as far apart as they are
// long.
#include <torch/torch.h>
#include <iostream>
#include <tuple>

using torch::indexing::Slice;

class ReaderImpl : public torch::nn::Module {
 public:
    ReaderImpl(int64_t words, int64_t size)
        : embed(words, size), lstm(torch::nn::LSTMOptions(size, size).batch_first(true)), linear(size, words) {
        register_module("embed", embed);
        register_module("lstm", lstm);
        register_module("linear", linear);
    }
    std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>> forward(
        torch::Tensor x, std::tuple<torch::Tensor, torch::Tensor> hx) {
        torch::Tensor output;
        std::tuple<torch::Tensor, torch::Tensor> state;
        std::tie(output, state) = lstm->forward(embed->forward(x), hx);
        output = torch::log_softmax(linear->forward(output.reshape({-1, output.size(2)})), 1);
        return std::make_tuple(output, state);
    }

 private:
    torch::nn::Embedding embed;
    torch::nn::LSTM lstm;
    torch::nn::Linear linear;
};

TORCH_MODULE(Reader);

int main() {
    const int64_t words = 12;
    const int64_t batch_size = 4;
    const int64_t sequence_length = 5;
    const size_t num_epochs = 3;

    torch::manual_seed(9);
    auto ids = torch::randint(words, {batch_size, 61}, torch::kLong);
    Reader model(words, 8);
    torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.01));

    // Train the model
    for (size_t epoch = 0; epoch != num_epochs; ++epoch) {
        double running_loss = 0.0;
        size_t running_num_samples = 0;

        auto h = torch::zeros({1, batch_size, 8});
        auto c = torch::zeros({1, batch_size, 8});

        for (int64_t i = 0; i < ids.size(1) - sequence_length; i += sequence_length) {
            auto data = ids.index({Slice(), Slice(i, i + sequence_length)});
            auto target = ids.index({Slice(), Slice(i + 1, i + 1 + sequence_length)}).reshape(-1);

            torch::Tensor output;
            std::forward_as_tuple(output, std::tie(h, c)) = model->forward(data, std::make_tuple(h, c));
            h.detach_();
            c.detach_();

            auto loss = torch::nn::functional::nll_loss(output, target);
            running_loss += loss.item<double>() * data.size(0);
            running_num_samples += data.size(0);

            optimizer.zero_grad();
            loss.backward();
            torch::nn::utils::clip_grad_norm_(model->parameters(), 0.5);
            optimizer.step();
            // here: loss.item<double>()
        }

        auto sample_mean_loss = running_loss / running_num_samples;
        std::cout << "Epoch [" << (epoch + 1) << "/" << num_epochs << "] Loss: " << sample_mean_loss
            << ", hidden " << h.norm().item<double>() << '\n';
    }
}
