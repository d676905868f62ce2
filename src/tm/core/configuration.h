// configuration.h -- SYNCOPATE_TM=ALGORITHM[:MANAGER] and its kin.
#pragma once

namespace syncopate::tm {

// Reads the environment, once, before the first transaction. An unknown name is one line on
// standard error, and `auto` is used.
void configure() noexcept;

// The configured algorithm's name.
const char* algorithm_name() noexcept;

}  // namespace syncopate::tm
