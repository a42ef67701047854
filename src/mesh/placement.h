// How a tensor lies over one axis of the device mesh. An empty list means replicated on every axis,
// which is the only state until the `shard` pass exists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mesh {

struct Placement {
  enum class Kind : uint8_t { shard, partial_sum };
  std::string axis;
  Kind kind = Kind::shard;
  int dim = 0;  // of the tensor, for shard
  bool operator==(const Placement&) const = default;
};
using Placements = std::vector<Placement>;

}  // namespace mesh
