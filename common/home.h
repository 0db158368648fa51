// Where the product's data files lie: the libraries of topologies and models, strategy constants.
#pragma once

#include <string>

namespace transload {

// $TRANSLOAD_HOME, or the source folder that the program was built from.
std::string transload_home();

}  // namespace transload
