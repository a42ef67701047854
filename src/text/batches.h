// Ready batches from a safetensors file, in the format of the golden cases.
#pragma once

#include <memory>
#include <string>

#include "text/loader.h"

namespace text {

// `input` and `labels`: I64 [steps, micro-batches, batch, seq], label -100 ignored; metadata
// `eos_id` (optional) ends documents. `batch` holds the rows of all ranks.
std::unique_ptr<Loader> open_batches(const std::string& path, const LoaderOptions& options);

}  // namespace text
