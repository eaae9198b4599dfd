/* SPDX-License-Identifier: Zlib */
/* kolk.hpp: the classes for C++, so that programs include "kolk.hpp" whether they have it from here, installed, or
 * beside the two files. */
#include "kolk/kolk.hpp"
