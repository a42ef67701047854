// The JSON header of a safetensors file, parsed strictly. Private to host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/safetensors.h"

namespace host {

struct SafetensorsHeader {
  Metadata metadata;
  std::vector<TensorEntry> entries;  // by name; no name twice, keys complete, offsets not checked
};

// `json` is the header without its length; `path` and `exit` are for the errors.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path,
                                           base::Exit exit);

// Bits of one element, 0 when no such dtype exists.
int bits_of_safetensors_dtype(std::string_view dtype);

}  // namespace host
