// Fits a line through noisy points; deeper, and its gradients are clipped.
#include <flor/flor.h>

#include <algorithm>
#include <random>
#include <vector>

struct Model
{
  explicit Model( std::size_t size ) : weights( size, 0.5 ), velocity( size, 0.0 ) {}
  std::vector<double> weights, velocity;
};

/// One step; returns the loss.
double learn( Model& net, std::mt19937_64& engine, double rate )
{
  double loss = 0;
  for ( std::size_t i = 0; i < net.weights.size(); ++i )
  {
    const double noise = static_cast<double>( engine() >> 11 ) * 0x1p-53;
    const double gradient = std::clamp( net.weights[i] - noise, -0.5, 0.5 );
    net.velocity[i] = 0.9 * net.velocity[i] + gradient;  // momentum
    net.weights[i] -= rate * net.velocity[i];
    loss += gradient * gradient;
  }
  return loss;
}

int main( int argc, char** argv )
{
  auto session = flor::init( argc, argv );
  const int epochs = flor::arg( "epochs", 5 );
  double rate = flor::arg( "lr", 0.05 );
  Model net( 5 );
  std::mt19937_64 engine{ 7 };
  const auto state = flor::checkpoints( net.weights, net.velocity, engine, rate );
  for ( int epoch : flor::loop( "epoch", epochs ) )
  {
    double sum = 0;
    for ( int step : flor::loop( "train", 6, flor::with( sum ) ) )
    {
      const double loss = learn( net, engine, rate );
      sum += loss;
      flor::log( "loss", loss );
      (void)step;
    }
    flor::log( "mean", sum / 6 );
    rate *= 0.9;
    double distance = 0;
    for ( int sample : flor::loop( "eval", 4, flor::with( distance ) ) )
    {
      const double target = 0.25 * sample;
      for ( const double weight : net.weights ) distance += ( weight - target ) * ( weight - target );
    }
    flor::log( "distance", distance );
    (void)epoch;
  }
}
