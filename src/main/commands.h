// One function a command; each has its own file. See program.h for the table that names them.
#pragma once

#include "main/program.h"

namespace program {

int run_config(Arguments arguments);   // show, explain, schema, lint
int run_convert(Arguments arguments);  // diff, and these two:
int run_convert_inspect(Arguments arguments);
int run_convert_verify(Arguments arguments);  // exit 9 when a byte is not what was written
int run_doctor(Arguments arguments);          // exit 9 when something needed is missing
int run_help(Arguments arguments);
int run_train(Arguments arguments);
int run_tokenizer(Arguments arguments);  // train, encode, decode, inspect

}  // namespace program
